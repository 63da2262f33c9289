"""A trace in columns: one row an event, names and tracks numbered, so that millions of events fit."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Kind(IntEnum):
    """What an event is, whatever its profiler calls it."""

    OTHER = 0
    OPERATOR = 1  # host work of a framework's operator
    RUNTIME = 2  # a call of the device's runtime or driver
    KERNEL = 3
    COPY = 4  # on the device
    FILL = 5  # on the device
    PYTHON = 6  # a Python function
    RANGE = 7  # a range somebody named, on the host
    STEP = 8


DEVICE_KINDS = (Kind.KERNEL, Kind.COPY, Kind.FILL)
DOUBLE, LONG, HALF, BACKWARD = 1, 2, 4, 8


@dataclass(frozen=True)
class Track:
    """One row of a timeline: a thread of a process, or a stream of a device."""

    process: str
    thread: str
    process_name: str = ""
    thread_name: str = ""


@dataclass(frozen=True)
class Device:
    """An accelerator as the trace describes it; None where the trace is silent."""

    name: str
    num_processors: int | None = None
    max_threads_a_processor: int | None = None
    compute_major: int | None = None


@dataclass(frozen=True)
class Geometry:
    """The launch geometry of kernels: row i belongs to event `row[i]`; occupancy is NaN where unknown."""

    row: Integers
    grid: Integers  # [K, 3] blocks
    block: Integers  # [K, 3] threads
    occupancy: Floats  # 0 to 1, estimated by the profiler
    registers: Integers  # a thread; 0 where unknown


@dataclass(frozen=True)
class MemorySamples:
    """The allocator's total after each of its events; `is_device` tells device from host memory."""

    time_us: Floats
    total_bytes: Integers
    is_device: Mask


@dataclass(frozen=True)
class Trace:
    """All complete events, in order of start. Times are microseconds since the first of them.

    `link` ties a runtime call to the device work it started (0: none); `source[i]` numbers a line of the
    user's own code in `sources` (-1: unknown); `shape[i]` numbers an
    operator's input shapes in `shapes` (-1: unknown); `types` holds DOUBLE, LONG and HALF for
    operators whose inputs have them, and BACKWARD for the nodes of a backward pass. `sequence` ties such
    a node to the operator that made it (-1: unknown). `origin_ns` is the wall clock's time at zero.
    """

    start_us: Floats
    duration_us: Floats
    name: NDArray[np.int32]
    kind: NDArray[np.int8]
    track: NDArray[np.int32]
    link: Integers
    source: NDArray[np.int32]
    types: NDArray[np.uint8]
    shape: NDArray[np.int32]
    sequence: NDArray[np.int32]
    names: tuple[str, ...]
    tracks: tuple[Track, ...]
    sources: tuple[str, ...]
    shapes: tuple[str, ...]
    geometry: Geometry
    memory: MemorySamples
    devices: tuple[Device, ...] = ()
    framework: str = "unknown"
    world_size: int | None = None
    rank: int | None = None
    warnings: tuple[str, ...] = ()
    origin_ns: float | None = None
    copy_bytes: dict[int, int] = field(default_factory=dict)

    @property
    def end_us(self) -> Floats:
        """Give the end of every event."""
        return self.start_us + self.duration_us

    def end_of(self, rows: Integers) -> Floats:
        """Give the end of some events."""
        ends: Floats = self.start_us[rows] + self.duration_us[rows]
        return ends

    @property
    def num_events(self) -> int:
        """Count the complete events."""
        return len(self.start_us)

    def of_kind(self, *kinds: Kind) -> Mask:
        """Mark the events of these kinds."""
        return np.isin(self.kind, [int(kind) for kind in kinds])

    def named(self, is_wanted: Callable[[str], bool]) -> Mask:
        """Mark the events whose name satisfies the predicate, which is asked once a name."""
        wanted = np.array([is_wanted(name) for name in self.names], dtype=bool)
        return wanted[self.name] if len(wanted) else np.zeros(self.num_events, dtype=bool)
