import threading
import time

import pytest

from gantune.errors import UsageError
from gantune.measuring.latency import Deadline, measure_latency, summarize_durations, time_call


class AsynchronousDevice:
    """Take work at once and finish it 100 ms later, as a graphics card does."""

    def __init__(self) -> None:
        self._work: list[threading.Thread] = []

    def launch(self) -> None:
        thread = threading.Thread(target=time.sleep, args=(0.1,))
        thread.start()
        self._work.append(thread)

    def synchronize(self) -> None:
        while self._work:
            self._work.pop().join()


def test_work_of_an_asynchronous_device_is_timed_to_its_end() -> None:
    device = AsynchronousDevice()
    assert time_call(device.launch) < 50
    # Work launched before the call is not the call's.
    assert 100 <= time_call(device.launch, synchronize=device.synchronize) < 190
    latency = measure_latency(device.launch, num_repeats=3, num_warmup=1, synchronize=device.synchronize)
    assert 100 <= latency.p50 < 190
    assert latency.n == 3


def test_warm_up_calls_do_not_count() -> None:
    calls: list[float] = []

    def call() -> None:
        calls.append(0)
        if len(calls) <= 2:
            time.sleep(0.05)

    latency = measure_latency(call, num_repeats=5, num_warmup=2)
    assert len(calls) == 7
    assert latency.mean < 10


def test_durations_are_summarized() -> None:
    latency = summarize_durations([5.0, 1.0, 2.0, 3.0, 4.0, 11.0, 7.0, 8.0, 9.0, 10.0, 6.0])
    assert (latency.p50, latency.p90, latency.mean, latency.n) == (6.0, 10.0, 6.0, 11)


@pytest.mark.parametrize(("num_repeats", "num_warmup"), [(0, 1), (1, -1)])
def test_senseless_numbers_of_calls_are_refused(num_repeats: int, num_warmup: int) -> None:
    with pytest.raises(UsageError, match="must be at least 1 and 0"):
        measure_latency(lambda: None, num_repeats=num_repeats, num_warmup=num_warmup)


def test_a_deadline_passes() -> None:
    assert Deadline(0).is_over
    assert not Deadline(60).is_over
    assert not Deadline(None).is_over
    assert Deadline(0).remaining_s == 0
    assert 59 < Deadline(60).remaining_s <= 60
