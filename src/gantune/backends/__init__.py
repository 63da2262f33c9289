"""The engines: each backend builds artifacts that are run and timed through `gantune.runtime`."""

from gantune.backends.backend import Backend, BuildOptions, Plan
from gantune.backends.catalogue import BACKENDS, find_backend

__all__ = ["BACKENDS", "Backend", "BuildOptions", "Plan", "find_backend"]
