"""What is seen in a trace's window: steps, device work, and host work; the ground all findings stand on."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from gantune.profiling.intervals import Intervals
from gantune.profiling.nesting import HOST_KINDS, find_parents, nearest_ancestor, self_times
from gantune.profiling.trace.events import DEVICE_KINDS, Floats, Integers, Kind, Mask, Trace
from gantune.profiling.vocabulary import Predicate, is_accelerator_trace, is_collective


@dataclass(frozen=True)
class SampledLine:
    """A line of the user's code, `file.py(12): function`, its share of the time, how often it was seen."""

    line: str
    share: float
    looks: int


@dataclass(frozen=True)
class ModuleShare:
    """A module's share of the window, its backward pass included and the modules it calls not.

    `heavy_share` is the part in large operators that have no other fault, `operators` their names.
    """

    name: str
    share: float
    heavy_share: float = 0.0
    operators: tuple[str, ...] = ()


@dataclass(frozen=True)
class ProcessCounters:
    """What was counted beside the trace; None where it was not.

    Counts are for one step (or one call). `as_is_ms` is the step's time without a profiler,
    `least_ms` the shortest one, `system_ms` the
    kernel's processor time, `run_delay_share` the part of the wall time in which the thread that trains was
    ready to run and had no core.
    """

    minor_faults: float | None = None
    threads: int | None = None
    num_cores: int | None = None
    batch_size: int | None = None
    as_is_ms: float | None = None
    loader_workers: int | None = None
    reference_operations: tuple[str, ...] = ()
    system_ms: float | None = None
    least_ms: float | None = None
    run_delay_share: float | None = None
    lines: tuple[SampledLine, ...] = ()
    modules: tuple[ModuleShare, ...] = ()
    is_anomaly_detected: bool = False
    is_onednn_on: bool | None = None
    is_cudnn_benchmarked: bool | None = None
    is_deterministic: bool = False


@dataclass(frozen=True)
class Observation:
    """A trace with its derived facts; times in microseconds of the trace's clock."""

    trace: Trace
    counters: ProcessCounters = field(default_factory=ProcessCounters)

    @cached_property
    def steps(self) -> list[tuple[float, float]]:
        """Give start and end of every step; empty where the trace marks none."""
        rows = np.flatnonzero(self.trace.of_kind(Kind.STEP))
        return [(float(self.trace.start_us[row]), float(self.trace.end_us[row])) for row in rows]

    @cached_property
    def window(self) -> Intervals:
        """Give the time from the first to the last step, or without steps of the whole trace."""
        if self.steps:
            return Intervals.single(min(s for s, _ in self.steps), max(e for _, e in self.steps))
        rows = ~self.trace.of_kind(Kind.OTHER)
        if not rows.any():
            rows = np.ones(self.trace.num_events, dtype=bool)
        return Intervals.single(float(self.trace.start_us[rows].min()), float(self.trace.end_us[rows].max()))

    @cached_property
    def window_us(self) -> float:
        """Give the window's length, never zero."""
        return max(self.window.total, 1e-3)

    @cached_property
    def in_window(self) -> Mask:
        """Mark the events that overlap the window."""
        if len(self.window.start) == 0:
            return np.ones(self.trace.num_events, dtype=bool)
        low, high = float(self.window.start[0]), float(self.window.end[-1])
        return np.logical_and(self.trace.end_us >= low, self.trace.start_us <= high)

    def time_of(self, mask: Mask) -> Intervals:
        """Give the union of the marked events' time inside the window."""
        chosen = mask & self.in_window
        return Intervals.union(self.trace.start_us[chosen], self.trace.end_us[chosen]).intersect(self.window)

    def share(self, time: Intervals) -> float:
        """Give a time's share of the window."""
        return min(1.0, time.total / self.window_us)

    def named(self, predicate: Predicate) -> Mask:
        """Mark events by name."""
        return self.trace.named(predicate)

    @cached_property
    def is_device(self) -> Mask:
        """Mark the work that ran on a device."""
        return self.trace.of_kind(*DEVICE_KINDS)

    @cached_property
    def has_device_work(self) -> bool:
        """Say whether the trace shows work on a device."""
        return bool(self.is_device.any())

    @cached_property
    def is_collective(self) -> Mask:
        """Mark what talks to other ranks: kernels on a device, or ranges on the host."""
        talks = self.named(is_collective)
        return talks & self.trace.of_kind(Kind.KERNEL) if self.has_device_work else talks & self.is_host

    @cached_property
    def is_host(self) -> Mask:
        """Mark operators, runtime calls, ranges and steps."""
        return self.trace.of_kind(*HOST_KINDS)

    @cached_property
    def has_operators(self) -> bool:
        """Say whether the trace shows what the host ran."""
        return bool(self.trace.of_kind(Kind.OPERATOR).any())

    @cached_property
    def accelerator_signs(self) -> tuple[str, ...]:
        """List host events that only a program with a device has, most frequent first."""
        mask = self.named(is_accelerator_trace) & self.trace.of_kind(Kind.OPERATOR, Kind.RUNTIME, Kind.RANGE)
        numbers, counts = np.unique(self.trace.name[mask], return_counts=True)
        return tuple(self.trace.names[number] for number in numbers[np.argsort(-counts)])

    @cached_property
    def driver_tracks(self) -> Integers:
        """Give the host threads that start device work, or without a device those that run operators.

        Where neither is seen, the threads with steps or ranges.
        """
        runtime = self.trace.of_kind(Kind.RUNTIME)
        for mask in (runtime, self.trace.of_kind(Kind.OPERATOR), self.trace.of_kind(Kind.STEP, Kind.RANGE)):
            if mask.any():
                return np.unique(self.trace.track[mask]).astype(np.int64)
        return np.unique(self.trace.track).astype(np.int64)

    @cached_property
    def main_track(self) -> int:
        """Give the thread of the steps, else the one with most time in operators and runtime calls."""
        steps = self.trace.of_kind(Kind.STEP)
        if steps.any():
            return int(self.trace.track[steps][0])
        host = self.is_host if self.is_host.any() else np.ones(self.trace.num_events, dtype=bool)
        return int(np.argmax(np.bincount(self.trace.track[host], weights=self.trace.duration_us[host])))

    @cached_property
    def host_rows(self) -> Integers:
        """Give the rows of all host events, in order of start."""
        return np.flatnonzero(self.is_host)

    @cached_property
    def host_parents(self) -> Integers:
        """Give for each of `host_rows` the row of the event that contains it, or −1."""
        return find_parents(self.trace, self.host_rows)

    @cached_property
    def host_self_us(self) -> Floats:
        """Give the self time of each of `host_rows`."""
        return self_times(self.trace, self.host_rows, self.host_parents)

    @cached_property
    def operator_of(self) -> Integers:
        """Give for each of `host_rows` the row of the innermost operator it belongs to, or −1."""
        return nearest_ancestor(self.host_rows, self.host_parents, self.trace.of_kind(Kind.OPERATOR))

    @cached_property
    def launch_of(self) -> Integers:
        """Give for every event the row of the runtime call that started it on the device, or −1."""
        launches = np.full(self.trace.num_events, -1, dtype=np.int64)
        calls = np.flatnonzero(self.trace.of_kind(Kind.RUNTIME) & (self.trace.link > 0))
        works = np.flatnonzero(self.is_device & (self.trace.link > 0))
        if len(calls) and len(works):
            order = calls[np.argsort(self.trace.link[calls], kind="stable")]
            links = self.trace.link[order]
            place = np.minimum(np.searchsorted(links, self.trace.link[works]), len(order) - 1)
            is_found = links[place] == self.trace.link[works]
            launches[works[is_found]] = order[place[is_found]]
        return launches
