import logging
import time

import pytest

from gantune.training.watchdog import Watchdog


def test_a_phase_that_hangs_is_named_once(caplog):
    dog = Watchdog(rank=3, patience_s=0.05, dump_stacks=False)
    with caplog.at_level(logging.ERROR):
        dog.start()
        dog.beat("d_r1: exchanging")
        time.sleep(0.3)
        dog.stop()
    assert [record.getMessage() for record in caplog.records] == [
        "process 3 has made no progress for 0.05 s: it is in the phase 'd_r1: exchanging'"
    ]


def test_progress_keeps_it_silent(caplog):
    dog = Watchdog(rank=0, patience_s=0.5, dump_stacks=False)
    with caplog.at_level(logging.ERROR):
        dog.start()
        for _ in range(5):
            time.sleep(0.02)
            dog.beat("g_main")
        dog.stop()
    assert not caplog.records


def test_a_stopped_watch_ends_its_thread():
    dog = Watchdog(rank=0, patience_s=60)
    dog.start()
    dog.stop()
    with pytest.raises(RuntimeError, match="threads can only be started once"):
        dog.start()
