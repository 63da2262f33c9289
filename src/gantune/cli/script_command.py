"""The command that stands after two dashes: everything there is the script's, further dashes included."""

import sys
from pathlib import Path


def read_script_command() -> list[str] | None:
    """Give what stands after the first `--` of the command line, None where there is none."""
    return sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else None


def given_before_dashes(file: Path | None, rest: list[str] | None, script: list[str] | None) -> list[str]:
    """Give the positional arguments that are not the script's."""
    given = ([str(file)] if file is not None else []) + list(rest or [])
    return given[: len(given) - len(script)] if script else given
