"""The `gantune` command: one file a sub-command."""

from gantune.cli.app import main

__all__ = ["main"]
