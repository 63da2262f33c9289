"""A watchdog: when a phase makes no progress, say which phase of which process hangs, and where.

Every process watches itself. In a hang of several processes the one that is not "exchanging" is the one the
others wait for.
"""

import faulthandler
import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# Silence is counted in slices, so that one in which the whole process was stopped counts once.
_SLICES = 20
_logger = logging.getLogger(__name__)


class Watchdog:
    """Report when `beat` has not been called for `patience_s` seconds, once for each silence.

    Time for which the whole process was stopped (SIGSTOP, a laptop that sleeps) is no silence.
    """

    def __init__(self, *, rank: int, patience_s: float, dump_stacks: bool = True) -> None:
        self.rank = rank
        self.patience_s = patience_s
        self.dump_stacks = dump_stacks
        self._phase = "start"
        self._progress = threading.Event()
        self._is_over = False
        self._thread = threading.Thread(target=self._watch, name="gantune-watchdog", daemon=True)

    def beat(self, phase: str) -> None:
        """Say that `phase` begins, and with it that the one before is done."""
        self._phase = phase
        self._progress.set()

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """End the watch."""
        self._is_over = True
        self._progress.set()
        self._thread.join()

    def _watch(self) -> None:
        slices = 0
        while not self._is_over:
            if self._progress.wait(self.patience_s / _SLICES):
                self._progress.clear()
                slices = 0
                continue
            slices += 1
            if slices == _SLICES:
                self._report()

    def _report(self) -> None:
        _logger.error(
            "process %d has made no progress for %g s: it is in the phase %r",
            self.rank,
            self.patience_s,
            self._phase,
        )
        if self.dump_stacks and sys.stderr is not None:
            faulthandler.dump_traceback(all_threads=True)


@contextmanager
def watch(*, rank: int, patience_s: float) -> Iterator[Watchdog]:
    """Watch this process until the `with` block ends."""
    dog = Watchdog(rank=rank, patience_s=patience_s)
    dog.start()
    try:
        yield dog
    finally:
        dog.stop()
