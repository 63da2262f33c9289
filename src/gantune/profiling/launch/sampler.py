"""Look at the training thread every few milliseconds and add up time by line of the user's code."""

import sys
import threading
from typing import NamedTuple

from gantune.measuring.clock import read_clock_ns
from gantune.measuring.process_facts import read_resident_bytes
from gantune.profiling.launch.stacks import Place, StackReader, frame_of_thread

_INTERVAL_S = 0.001
# Python hands the interpreter over this often; it bounds how late a sample of a busy loop can be.
_SWITCH_INTERVAL_S = 0.0005
_LOOKS_A_MEMORY = 20
_MAX_SPANS = 100_000


class Sample(NamedTuple):
    """A stretch of time at one place."""

    place: Place | None
    start_ns: int
    end_ns: int
    looks: int


class LineSampler:
    """Sample one thread between `start` and `stop`.

    The time since the last look belongs to what is seen now, so a thread that keeps the interpreter to itself
    and is seen late is not counted short.
    """

    def __init__(self, thread: int) -> None:
        self.samples: list[Sample] = []
        self.peak_bytes = 0
        self._thread_id = thread
        self._stacks = StackReader()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="gantune-sampler", daemon=True)
        self._switch_interval_s = sys.getswitchinterval()

    def start(self) -> None:
        """Begin to look."""
        sys.setswitchinterval(_SWITCH_INTERVAL_S)
        self._thread.start()

    def stop(self) -> list[Sample]:
        """End, restore the interpreter's switch interval, and give what was seen."""
        self._is_over.set()
        self._thread.join()
        sys.setswitchinterval(self._switch_interval_s)
        return self.samples

    def _run(self) -> None:
        last, number = read_clock_ns(), 0
        while not self._is_over.wait(_INTERVAL_S):
            place = self._stacks.read(frame_of_thread(self._thread_id))
            now = read_clock_ns()
            before = self.samples[-1] if self.samples else None
            if before is not None and before.place == place:
                self.samples[-1] = Sample(place, before.start_ns, now, before.looks + 1)
            elif len(self.samples) < _MAX_SPANS:
                self.samples.append(Sample(place, last, now, 1))
            last, number = now, number + 1
            if number % _LOOKS_A_MEMORY == 0:
                self.peak_bytes = max(self.peak_bytes, read_resident_bytes())
