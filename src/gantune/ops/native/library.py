"""Load the C++ kernels and call them: the only file that knows their C interface.

The library is built by setup.py where a C++17 compiler is found. It depends on nothing, not even on torch, so
one build serves every version of torch.
"""

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from gantune.errors import UnavailableError, UsageError
from gantune.ops.native.structures import (
    FilterRequest,
    PointwiseRequest,
    ProjectionRequest,
    SmoothRequest,
    WinogradRequest,
)

INTERFACE_VERSION = 3
_SUFFIX = {"darwin": "dylib", "win32": "dll"}.get(sys.platform, "so")
LIBRARY = Path(__file__).with_name(f"libgantune_kernels.{_SUFFIX}")

_forced: str | None = None


@cache
def missing_reason() -> str | None:
    """Return None where the kernels can run, else why not, in one line."""
    if not LIBRARY.exists():
        return (
            "the C++ kernels were not built when gantune was installed (no C++17 compiler found); install "
            "one and reinstall gantune, or a wheel of gantune for this platform"
        )
    try:
        library = ctypes.CDLL(str(LIBRARY))
    except OSError as error:
        return f"the C++ kernels do not load: {str(error).splitlines()[0]}"
    version = int(library.gantune_interface_version())
    if version != INTERFACE_VERSION:
        return f"the C++ kernels are of another gantune (interface {version}); reinstall gantune"
    return None


def instruction_sets() -> tuple[str, ...]:
    """Return the instruction sets that run on this processor, best first; none where nothing is built."""
    return tuple(_indices())


@contextmanager
def use_instruction_set(name: str) -> Iterator[None]:
    """Let every kernel of this process use instruction set `name` until the `with` block ends.

    Raises UnavailableError where the kernels are missing, and UsageError for a set that does not run here.
    """
    reason = missing_reason()
    if reason is not None:
        raise UnavailableError(reason)
    if name not in _indices():
        raise UsageError(f"instruction set {name!r} does not run here; allowed: {', '.join(_indices())}")
    global _forced
    outer, _forced = _forced, name
    try:
        yield
    finally:
        _forced = outer


@contextmanager
def use_own_threads() -> Iterator[None]:
    """Run kernels on gantune's own threads until the `with` block ends, not on OpenMP's team."""
    library = _load()
    library.gantune_share_openmp(0)
    try:
        yield
    finally:
        library.gantune_share_openmp(1)


def run_filter(request: FilterRequest, *, num_threads: int) -> None:
    """Run the FIR pipeline that `request` describes; its pointers must stay alive."""
    _check(_load().gantune_filter(ctypes.byref(request), _chosen(), num_threads))


def run_pointwise(request: PointwiseRequest, *, num_threads: int) -> None:
    """Run the pointwise pass that `request` describes; its pointers must stay alive."""
    _check(_load().gantune_pointwise(ctypes.byref(request), _chosen(), num_threads))


def run_winograd(request: WinogradRequest, *, most_tiles: int, num_threads: int) -> None:
    """Run the convolution that `request` describes, in blocks of at most `most_tiles` tiles."""
    _check(_load().gantune_winograd(ctypes.byref(request), most_tiles, _chosen(), num_threads))


def run_smooth(request: SmoothRequest, *, num_threads: int) -> None:
    """Run the three-tap filter behind an up-sampling convolution."""
    _check(_load().gantune_smooth(ctypes.byref(request), _chosen(), num_threads))


def run_projection(request: ProjectionRequest, *, num_threads: int) -> None:
    """Run the projection that `request` describes."""
    _check(_load().gantune_project(ctypes.byref(request), _chosen(), num_threads))


def count_lanes() -> int:
    """Return how many floats a register of the current instruction set holds."""
    return int(_load().gantune_lanes(_chosen()))


def _check(status: int) -> None:
    if status != 0:
        raise UnavailableError(f"the C++ kernels refused to run (status {status})")


def _chosen() -> int:
    indices = _indices()
    return next(iter(indices.values())) if _forced is None else indices[_forced]


@cache
def _load() -> ctypes.CDLL:
    reason = missing_reason()
    if reason is not None:
        raise UnavailableError(reason)
    library = ctypes.CDLL(str(LIBRARY))
    library.gantune_instruction_set_name.restype = ctypes.c_char_p
    library.gantune_filter.argtypes = [ctypes.POINTER(FilterRequest), ctypes.c_int, ctypes.c_int]
    library.gantune_pointwise.argtypes = [ctypes.POINTER(PointwiseRequest), ctypes.c_int, ctypes.c_int]
    library.gantune_winograd.argtypes = [
        ctypes.POINTER(WinogradRequest),
        ctypes.c_int64,
        ctypes.c_int,
        ctypes.c_int,
    ]
    library.gantune_smooth.argtypes = [ctypes.POINTER(SmoothRequest), ctypes.c_int, ctypes.c_int]
    library.gantune_project.argtypes = [ctypes.POINTER(ProjectionRequest), ctypes.c_int, ctypes.c_int]
    return library


@cache
def _indices() -> dict[str, int]:
    if missing_reason() is not None:
        return {}
    library = _load()
    return {
        library.gantune_instruction_set_name(index).decode(): index
        for index in range(library.gantune_num_instruction_sets())
        if library.gantune_instruction_set_runs(index)
    }
