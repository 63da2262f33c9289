"""`python -m gantune` is the `gantune` command."""

from gantune.cli import main

if __name__ == "__main__":
    main()
