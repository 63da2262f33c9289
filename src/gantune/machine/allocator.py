"""Which memory allocator this process runs with."""

import platform
from pathlib import Path

from gantune.machine.environment import TUNED_ALLOCATOR, read_variables

_MAPS = Path("/proc/self/maps")
_OTHER_ALLOCATORS = ("tcmalloc", "jemalloc", "mimalloc")


def is_glibc() -> bool:
    """Say whether this process runs on the GNU C library."""
    return platform.libc_ver()[0] == "glibc"


def find_allocator() -> str:
    """Name the allocator: "tcmalloc", "jemalloc", "mimalloc", "glibc", "glibc (tuned by …)" or "system".

    An allocator counts when its library is mapped into this process.
    """
    if _MAPS.exists():
        maps = _MAPS.read_text()
        for name in _OTHER_ALLOCATORS:
            if f"lib{name}" in maps:
                return name
    if not is_glibc():
        return "system"
    tuned = [name for name in TUNED_ALLOCATOR if name in read_variables()]
    return f"glibc (tuned by {', '.join(tuned)})" if tuned else "glibc"
