"""The processor and the memory, read from the operating system."""

import os
import platform
import re
from pathlib import Path

import psutil

_CPUINFO = Path("/proc/cpuinfo")
_INSTRUCTION_SETS = {
    "avx2": "avx2",
    "avx512f": "avx512f",
    "avx512_vnni": "avx512_vnni",
    "avx_vnni": "avx_vnni",
    "avx512_bf16": "avx512_bf16",
    "avx512_fp16": "avx512_fp16",
    "amx_tile": "amx_tile",
    "amx_int8": "amx_int8",
    "amx_bf16": "amx_bf16",
    "asimd": "neon",
    "bf16": "bf16",
    "i8mm": "i8mm",
}


def processor_name() -> str:
    """Name the processor as its maker does."""
    found = re.search(r"^model name\s*:\s*(.+)$", _cpuinfo(), re.MULTILINE)
    return found.group(1).strip() if found else platform.processor() or platform.machine()


def instruction_sets(cpuinfo: str | None = None) -> tuple[str, ...]:
    """List the instruction sets that matter to neural networks; `cpuinfo` replaces the machine's own text."""
    text = _cpuinfo() if cpuinfo is None else cpuinfo
    found = re.search(r"^(?:flags|Features)\s*:\s*(.+)$", text, re.MULTILINE)
    if found is None:
        return ("neon",) if platform.machine() in ("arm64", "aarch64") else ()
    flags = set(found.group(1).split())
    return tuple(name for flag, name in _INSTRUCTION_SETS.items() if flag in flags)


def num_usable_cores() -> int:
    """Count the cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory_bytes() -> int:
    """Give the size of the machine's memory."""
    return int(psutil.virtual_memory().total)


def _cpuinfo() -> str:
    return _CPUINFO.read_text() if _CPUINFO.exists() else ""
