"""The one timer: how long a call takes, warmed up, with the device synchronized."""

import time
from collections.abc import Callable, Sequence

import numpy as np

from gantune.errors import UsageError
from gantune.records.candidate import Latency

Call = Callable[[], object]


def time_call(call: Call, *, synchronize: Call | None = None) -> float:
    """Return the milliseconds from idle device to idle device around one call.

    `synchronize` waits for an asynchronous device; without it only the time to launch work would be seen.
    """
    if synchronize is not None:
        synchronize()
    start = time.perf_counter()
    call()
    if synchronize is not None:
        synchronize()
    return (time.perf_counter() - start) * 1e3


def measure_latency(
    call: Call, *, num_repeats: int = 15, num_warmup: int = 2, synchronize: Call | None = None
) -> Latency:
    """Time `num_repeats` calls after `num_warmup` calls that do not count."""
    if num_repeats < 1 or num_warmup < 0:
        raise UsageError(
            f"num_repeats is {num_repeats} and num_warmup {num_warmup}; they must be at least 1 and 0"
        )
    for _ in range(num_warmup):
        time_call(call, synchronize=synchronize)
    return summarize_durations([time_call(call, synchronize=synchronize) for _ in range(num_repeats)])


def summarize_durations(durations_ms: Sequence[float]) -> Latency:
    """Give median, 90th percentile, mean and number of durations."""
    p50, p90 = np.percentile(durations_ms, [50, 90])
    return Latency(p50=float(p50), p90=float(p90), mean=float(np.mean(durations_ms)), n=len(durations_ms))


class Deadline:
    """Say when a time budget is used up; None means never."""

    def __init__(self, budget_s: float | None) -> None:
        self._end = None if budget_s is None else time.monotonic() + budget_s

    @property
    def is_over(self) -> bool:
        """Say whether the budget is used up."""
        return self._end is not None and time.monotonic() >= self._end

    @property
    def remaining_s(self) -> float:
        """Give the seconds left, at least 0; infinity without a budget."""
        return float("inf") if self._end is None else max(0.0, self._end - time.monotonic())
