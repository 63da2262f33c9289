"""Elapsed wall time, for progress and for shares of a long run; speed claims use `latency`."""

import time


class Stopwatch:
    """Count seconds from its creation, and between laps."""

    def __init__(self) -> None:
        self._start = self._lap = time.perf_counter()

    @property
    def elapsed_s(self) -> float:
        """Give the seconds since creation."""
        return time.perf_counter() - self._start

    def lap_ms(self) -> float:
        """Give the milliseconds since the last lap, and begin the next."""
        now = time.perf_counter()
        passed, self._lap = now - self._lap, now
        return passed * 1e3
