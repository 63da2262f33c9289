"""The wall clock, to lay what was seen by several observers on one time axis; speed claims use `latency`."""

import time


def read_clock_ns() -> int:
    """Read the nanoseconds since 1970, the clock of torch's profiler."""
    return time.time_ns()
