"""Starts inside the script's process: applies remedies as soon as torch is there, then watches."""

from importlib import import_module

from gantune.profiling.launch.bootstrap import watch_script as _watch_script
from gantune.profiling.launch.options import WatchOptions


def watch_script() -> None:
    """Apply the remedies the launcher asked for, and record."""
    _watch_script(_apply)


def _apply(options: WatchOptions) -> None:
    """Call every remedy, written `module:function` or `module:function:argument`."""
    for remedy in options.remedies:
        module, name, *argument = remedy.split(":")
        getattr(import_module(module), name)(*argument)
