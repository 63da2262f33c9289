"""Compile the C++ kernels for this processor on first use, and load them."""

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from gantune.errors import UnavailableError

_HERE = Path(__file__).parent / "native"
# Vectors, threads: shared with the filters' kernels.
_SHARED = Path(__file__).parents[1] / "native"
_SOURCES = (_HERE / "winograd.cpp", _SHARED / "thread_pool.cpp")
_FLAGS = (
    "-O3",
    "-std=c++17",
    "-march=native",
    "-mprefer-vector-width=512",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fvisibility=hidden",
    "-shared",
    "-fPIC",
    "-pthread",
)
_TIMEOUT_S = 300


class Library:
    """The loaded kernels; `lanes` is how many floats a register holds."""

    def __init__(self, handle: ctypes.CDLL) -> None:
        self._handle = handle
        self.lanes: int = handle.gantune_lanes()

    def convolve(self, request: ctypes.Structure, most_tiles: int, num_threads: int) -> None:
        """Run a `WinogradRequest`."""
        self._handle.gantune_winograd(ctypes.byref(request), ctypes.c_int64(most_tiles), num_threads)

    def smooth(self, request: ctypes.Structure, num_threads: int) -> None:
        """Run a `SmoothRequest`."""
        self._handle.gantune_smooth(ctypes.byref(request), num_threads)

    def project(self, request: ctypes.Structure, num_threads: int) -> None:
        """Run a `ProjectionRequest`."""
        self._handle.gantune_project(ctypes.byref(request), num_threads)


def missing() -> str | None:
    """Return None where the kernels can be compiled here, else the reason."""
    if _compiler() is None:
        return "no C++ compiler was found (g++ or clang++), and the kernels are compiled on first use"
    return None


@cache
def load() -> Library:
    """Compile if needed, once a machine; raise `UnavailableError` with the reason where that fails."""
    compiler = _compiler()
    if compiler is None:
        raise UnavailableError(f"The native convolution is not available: {missing()}.")
    folder = Path.home() / ".cache" / "gantune"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        folder = Path(tempfile.gettempdir())
    path = folder / f"styled-convolution-{_fingerprint(compiler)}.so"
    if not path.exists():
        _compile(compiler, path)
    return Library(ctypes.CDLL(str(path)))


def _compiler() -> str | None:
    return next((found for name in ("g++", "clang++") if (found := shutil.which(name))), None)


def _fingerprint(compiler: str) -> str:
    """Name everything the binary depends on: sources, flags, compiler and the processor's instructions."""
    digest = hashlib.sha256(" ".join((compiler, *_FLAGS)).encode())
    for source in sorted((*_HERE.iterdir(), *_SHARED.glob("*.h"), *_SHARED.glob("*.cpp"))):
        digest.update(source.read_bytes())
    processor = Path("/proc/cpuinfo")
    if processor.exists():
        flags = [
            line for line in processor.read_text().splitlines() if line.startswith(("flags", "Features"))
        ]
        digest.update("".join(flags[:1]).encode())
    return digest.hexdigest()[:16]


def _compile(compiler: str, path: Path) -> None:
    part = path.with_name(f"{path.name}.{os.getpid()}")
    command = [compiler, *_FLAGS, f"-I{_HERE}", f"-I{_SHARED}", "-o", str(part), *map(str, _SOURCES)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    if result.returncode != 0:
        lines = [line for line in result.stderr.splitlines() if "error" in line] or [f"{compiler} failed"]
        raise UnavailableError(f"The native convolution cannot be compiled here: {lines[0]}")
    part.replace(path)
