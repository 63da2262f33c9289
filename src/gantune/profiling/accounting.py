"""Every moment of the window gets one cause: device work by what it is, idle time by what the host did."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gantune.profiling.intervals import Intervals, union_all
from gantune.profiling.observation import Observation
from gantune.profiling.trace.events import Integers, Kind, Mask
from gantune.profiling.vocabulary import is_allocating, is_copying, is_data_loading, is_waiting

# A blocking copy returns late; issuing an asynchronous one takes some ten microseconds.
BLOCKING_COPY_US = 50.0
# Setting a device up is one call that outlasts all others of its name, and takes a tenth of a second at
# least.
SETUP_CALL_US = 1e5
SETUP_SHARE_OF_NAME = 0.25
# A kernel is late when its launch began after the device had run dry, clocks being this far apart at most.
LATE_SLACK_US = 5.0


@dataclass(frozen=True)
class Accounting:
    """Split the window of an observation with device work into disjoint parts."""

    seen: Observation

    @cached_property
    def compute(self) -> Intervals:
        """Give the time in which a kernel runs that does not talk to other ranks."""
        return self.seen.time_of(self.seen.trace.of_kind(Kind.KERNEL) & ~self.seen.is_collective)

    @cached_property
    def exposed_communication(self) -> Intervals:
        """Give the time in which the device does nothing but talk to other ranks."""
        return self.seen.time_of(self.seen.is_collective).subtract(self.compute)

    @cached_property
    def exposed_copies(self) -> Intervals:
        """Give the time in which the device does nothing but copy or fill."""
        moving = self.seen.time_of(self.seen.trace.of_kind(Kind.COPY, Kind.FILL))
        return moving.subtract(union_all([self.compute, self.exposed_communication]))

    @cached_property
    def busy(self) -> Intervals:
        """Give the time in which the device does anything."""
        return self.seen.time_of(self.seen.is_device)

    @cached_property
    def idle(self) -> Intervals:
        """Give the time in which the device does nothing."""
        return self.seen.window.subtract(self.busy)

    @cached_property
    def idle_by_cause(self) -> dict[str, Intervals]:
        """Split the idle time, each moment to the first cause that holds: data, setup, allocator,
        waiting, host (it was busy with something else), unknown.
        """
        left, parts = self.idle, {}
        sources = {
            "data": self.loading,
            "setup": self._calls(self.is_setup),
            "allocator": self.allocating,
            "waiting": self.waiting,
        }
        for name, time in sources.items():
            caught = left.intersect(time)
            if name in ("allocator", "waiting"):
                caught = union_all([caught, _gaps_begun_in(left, time)])
            parts[name] = caught
            left = left.subtract(caught)
        active = self._active()
        parts["host"] = left.intersect(active)
        parts["unknown"] = left.subtract(active)
        return parts

    @cached_property
    def loading(self) -> Intervals:
        """Give the time the main thread spends in the data loader."""
        on_main = self.seen.trace.track == self.seen.main_track
        return self.seen.time_of(self.seen.named(is_data_loading) & self.seen.is_host & on_main)

    @cached_property
    def allocating(self) -> Intervals:
        """Give the time in calls that allocate or free memory, without those that set the device up."""
        return self._calls(self._on_drivers(self.seen.named(is_allocating)) & ~self.is_setup)

    @cached_property
    def waiting(self) -> Intervals:
        """Give the time the driving threads wait for the device in a call."""
        return self._calls(self.is_waiting)

    @cached_property
    def is_waiting(self) -> Mask:
        """Mark runtime calls in which the host waits: synchronization, and copies that return late."""
        trace = self.seen.trace
        waits = self._on_drivers(self.seen.named(is_waiting))
        is_short_copy = self.seen.named(is_copying) & (trace.duration_us < BLOCKING_COPY_US)
        return waits & ~is_short_copy & ~self.is_setup

    @cached_property
    def is_setup(self) -> Mask:
        """Mark one-off runtime calls that set up the device or load its code, and are no waiting."""
        trace = self.seen.trace
        calls = self._on_drivers(trace.of_kind(Kind.RUNTIME)) & ~self.seen.named(is_waiting)
        by_name = np.bincount(trace.name[calls], weights=trace.duration_us[calls], minlength=len(trace.names))
        is_most_of_name = trace.duration_us >= SETUP_SHARE_OF_NAME * by_name[trace.name]
        return calls & (trace.duration_us >= SETUP_CALL_US) & is_most_of_name

    @cached_property
    def kernel_rows(self) -> Integers:
        """Give the kernels of the window, in order of start."""
        return np.flatnonzero(self.seen.trace.of_kind(Kind.KERNEL) & self.seen.in_window)

    @cached_property
    def late_share(self) -> float | None:
        """Give the share of kernels whose launch began only after the device had run dry.

        None where launches cannot be tied to kernels.
        """
        trace, rows = self.seen.trace, np.flatnonzero(self.seen.is_device & self.seen.in_window)
        if len(rows) < 2:
            return None
        reach = np.maximum.accumulate(trace.end_us[rows])[:-1]
        launch = self.seen.launch_of[rows][1:]
        is_known = (launch >= 0) & trace.of_kind(Kind.KERNEL)[rows][1:]
        if is_known.sum() < 0.5 * len(self.kernel_rows):
            return None
        gap = trace.start_us[rows][1:] > reach
        late = gap & (trace.start_us[np.maximum(launch, 0)] > reach - LATE_SLACK_US)
        return float(late[is_known].mean())

    def _on_drivers(self, mask: Mask) -> Mask:
        return (
            mask
            & self.seen.trace.of_kind(Kind.RUNTIME)
            & np.isin(self.seen.trace.track, self.seen.driver_tracks)
        )

    def _calls(self, mask: Mask) -> Intervals:
        return self.seen.time_of(mask)

    def _active(self) -> Intervals:
        """Give the time in which a driving thread runs an operator, a call or a Python function."""
        trace = self.seen.trace
        kinds = (Kind.OPERATOR, Kind.RUNTIME, Kind.RANGE, Kind.STEP, Kind.PYTHON)
        return self.seen.time_of(trace.of_kind(*kinds))


def _gaps_begun_in(gaps: Intervals, time: Intervals) -> Intervals:
    """Give the whole gaps that begin while `time` goes on: the host then has to fill an empty queue."""
    begun = time.covers(gaps.start + 1e-3)
    return Intervals(gaps.start[begun], gaps.end[begun])
