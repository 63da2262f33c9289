"""All that a rule may look at: the observed window, its accounting by device and by host, and its phases."""

from dataclasses import dataclass
from functools import cached_property

from gantune.profiling.accounting import Accounting
from gantune.profiling.host import HostAccounting
from gantune.profiling.observation import Observation, ProcessCounters
from gantune.profiling.phases import Phase, split_by_phase
from gantune.profiling.trace.events import Trace


@dataclass(frozen=True)
class Scene:
    """One observed window."""

    seen: Observation

    @cached_property
    def device(self) -> Accounting | None:
        """Give the accounting of the device's time, None for a trace without device work."""
        return Accounting(self.seen) if self.seen.has_device_work else None

    @cached_property
    def host(self) -> HostAccounting:
        """Give the accounting of the host's time."""
        return HostAccounting(self.seen)

    @cached_property
    def phases(self) -> tuple[Phase, ...]:
        """Give the training phases, none where no range names one."""
        return split_by_phase(self.seen)

    @property
    def is_device_missing(self) -> bool:
        """Say whether the program used a device whose work the trace does not show."""
        return not self.seen.has_device_work and bool(self.seen.accelerator_signs)


def see(trace: Trace, counters: ProcessCounters | None = None) -> Scene:
    """Make the scene of a trace, and of what was counted beside it."""
    return Scene(Observation(trace, counters or ProcessCounters()))
