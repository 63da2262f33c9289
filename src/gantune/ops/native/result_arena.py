"""Memory for large results of inference: one region of addresses, where freed room is taken again.

glibc gives a tensor of tens of MiB fresh pages each time, which costs a fault for each; told to keep them, it
leaves holes that the next layer's larger result does not fit (its aligned allocation asks for more than it
uses). Here the lowest free place that fits is taken, freed neighbors join, and no page goes back.
"""

import bisect
import ctypes
import mmap
import sys
import threading
import weakref
from functools import cache
from math import prod

import numpy as np
import torch
from torch import Tensor

# Smaller ones fill the holes of the allocator's own heap, and would make holes here.
SMALLEST_BYTES = 16 << 20
_STEP = 1 << 16
# Addresses only: memory is used where something is written. A larger result comes from torch.
_REGION_BYTES = 1 << 36
_MAP_NORESERVE = 0x4000


def empty_channels_last(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    """Return uninitialised memory [N, C, H, W], channels-last, from the arena where it is large."""
    _, C, H, W = shape
    flat = _take(shape, dtype)
    if flat is None:
        return torch.empty(shape, dtype=dtype, memory_format=torch.channels_last)
    return flat.as_strided(shape, (C * H * W, 1, W * C, C))


def empty_contiguous(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    """Return uninitialised memory [N, C, H, W], planar, from the arena where it is large."""
    flat = _take(shape, dtype)
    return torch.empty(shape, dtype=dtype) if flat is None else flat.view(shape)


def _take(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor | None:
    num_bytes = prod(shape) * dtype.itemsize
    # Results of training live until the backward pass; the arena would only ever grow.
    if num_bytes < SMALLEST_BYTES or not torch.is_inference_mode_enabled():
        return None
    arena = _shared_arena()
    return None if arena is None else arena.take(num_bytes, dtype)


class ResultArena:
    """Hand out pieces of one region; a piece comes back when the last tensor on it dies."""

    def __init__(self, region_bytes: int) -> None:
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE
        self._region = mmap.mmap(-1, region_bytes, flags=flags)
        self._region.madvise(mmap.MADV_HUGEPAGE)
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(self._region))
        self._free = [(0, region_bytes)]  # (offset, bytes), by offset
        self._lock = threading.Lock()

    def take(self, num_bytes: int, dtype: torch.dtype) -> Tensor | None:
        """Return a vector of `num_bytes` bytes, or None where no free piece is that large."""
        size = -(-num_bytes // _STEP) * _STEP
        with self._lock:
            offset = self._take_lowest(size)
        if offset is None:
            return None
        memory = (ctypes.c_uint8 * num_bytes).from_address(self._address + offset)
        # torch holds the array, and the array holds `memory`, which dies with the last tensor.
        weakref.finalize(memory, self._give_back, offset, size).atexit = False
        vector = torch.from_numpy(np.ctypeslib.as_array(memory))
        return vector.view(dtype)

    def _take_lowest(self, size: int) -> int | None:
        for index, (offset, room) in enumerate(self._free):
            if room >= size:
                self._free[index : index + 1] = [(offset + size, room - size)] if room > size else []
                return offset
        return None

    def _give_back(self, offset: int, size: int) -> None:
        with self._lock:
            index = bisect.bisect(self._free, (offset, 0))
            if index < len(self._free) and self._free[index][0] == offset + size:
                size += self._free.pop(index)[1]
            if index > 0 and sum(self._free[index - 1]) == offset:
                index -= 1
                before, room = self._free.pop(index)
                offset, size = before, room + size
            self._free.insert(index, (offset, size))


@cache
def _shared_arena() -> ResultArena | None:
    """Return this process's arena; None where Linux, or room for its addresses, is missing."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        return ResultArena(_REGION_BYTES)
    except (OSError, ValueError):
        return None
