"""Every environment variable that gantune reads; no other file reads any."""

import os
from collections.abc import Mapping
from typing import NamedTuple

from gantune.errors import UsageError


class Variable(NamedTuple):
    """Name an environment variable and say in one clause what it changes."""

    name: str
    meaning: str


VARIABLES: tuple[Variable, ...] = (
    Variable("OMP_NUM_THREADS", "threads of OpenMP, which torch uses"),
    Variable("MKL_NUM_THREADS", "threads of Intel MKL's matrix products"),
    Variable("OMP_WAIT_POLICY", "whether idle OpenMP threads spin"),
    Variable("KMP_AFFINITY", "binding of Intel OpenMP threads to cores"),
    Variable("KMP_BLOCKTIME", "milliseconds that idle Intel OpenMP threads spin"),
    Variable("GOMP_CPU_AFFINITY", "binding of GNU OpenMP threads to cores"),
    Variable("MALLOC_MMAP_THRESHOLD_", "size from which glibc maps memory for each allocation"),
    Variable("MALLOC_TRIM_THRESHOLD_", "free memory from which glibc returns the heap's top"),
    Variable("MALLOC_TOP_PAD_", "extra memory glibc asks for when the heap grows"),
    Variable("MALLOC_ARENA_MAX", "number of glibc heaps"),
    Variable("MALLOC_CONF", "settings of jemalloc"),
    Variable("GLIBC_TUNABLES", "settings of glibc, the allocator's among them"),
    Variable("THP_MEM_ALLOC_ENABLE", "transparent huge pages for torch's tensors"),
    Variable("LD_PRELOAD", "libraries loaded first, such as another allocator"),
    Variable("ONEDNN_MAX_CPU_ISA", "newest instruction set that oneDNN may use"),
    Variable("ONEDNN_DEFAULT_FPMATH_MODE", "precision that oneDNN may silently use for float32"),
    Variable("ATEN_CPU_CAPABILITY", "newest instruction set that torch's own kernels may use"),
    Variable("CUDA_VISIBLE_DEVICES", "graphics cards that a process sees"),
    Variable("TRITON_INTERPRET", "whether Triton kernels run in its interpreter, on the CPU"),
    Variable("XDG_CACHE_HOME", "folder that holds caches"),
    Variable("PYTHONPATH", "folders that Python searches for modules first"),
    Variable("GANTUNE_WATCH", "what a script started by gantune profile or gantune tune records"),
    Variable("GANTUNE_CACHE", "folder of gantune's own cache"),
)

TUNED_ALLOCATOR: Mapping[str, str] = {
    "MALLOC_MMAP_THRESHOLD_": "8000000000",
    "MALLOC_TRIM_THRESHOLD_": "8000000000",
}
"""The variables that make glibc keep large tensors in its heap."""

ALLOCATOR_VARIABLES: tuple[str, ...] = (
    "MALLOC_MMAP_THRESHOLD_",
    "MALLOC_TRIM_THRESHOLD_",
    "MALLOC_TOP_PAD_",
    "MALLOC_ARENA_MAX",
    "GLIBC_TUNABLES",
    "THP_MEM_ALLOC_ENABLE",
)
"""The variables that tune the allocator a process has; `LD_PRELOAD`, which replaces it, is not one."""


def read_variable(name: str) -> str | None:
    """Read one of `VARIABLES`, None where it is unset; raise UsageError for a variable not listed there."""
    if name not in {variable.name for variable in VARIABLES}:
        raise UsageError(
            f"environment variable {name!r} is not listed; add it to gantune.machine.environment"
        )
    return os.environ.get(name)


def read_variables() -> dict[str, str]:
    """Read all of `VARIABLES` that are set."""
    values = {variable.name: os.environ.get(variable.name) for variable in VARIABLES}
    return {name: value for name, value in values.items() if value is not None}


def child_environment(changes: Mapping[str, str], *, without: tuple[str, ...] = ()) -> dict[str, str]:
    """Give the environment of a child process: this one's, less `without`, with `changes`."""
    kept = {name: value for name, value in os.environ.items() if name not in without}
    return kept | dict(changes)
