import logging
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from gantune.training.watchdog import Watchdog

SCRIPT = Path(__file__).with_name("hanging_processes.py")


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


PAUSED = """
import logging, time
from gantune.training.watchdog import watch
logging.basicConfig()
with watch(rank=0, patience_s=1.0) as dog:
    for number in range(4):
        dog.beat("g_main")
        print(number, flush=True)
        time.sleep(0.5)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="the system cannot stop a process")
def test_a_process_that_was_stopped_does_not_hang():
    child = subprocess.Popen(
        [sys.executable, "-c", PAUSED], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    child.stdout.readline()
    child.send_signal(signal.SIGSTOP)
    time.sleep(2)
    child.send_signal(signal.SIGCONT)
    _, told = child.communicate(timeout=60)
    assert (child.returncode, told) == (0, "")


def end_all(pid):
    """End a launcher and what it has launched: torchrun gives each process a session of its own."""
    launcher = psutil.Process(pid)
    for process in [*launcher.children(recursive=True), launcher]:
        process.kill()


@pytest.mark.slow
def test_a_hang_of_two_processes_names_the_rank_that_hangs_and_the_phase():
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    # The one that does not exchange is the one the other waits for.
    expected = {0: "d_main: exchanging", 1: "d_main"}
    told, has_stacks = {}, False
    with subprocess.Popen([*command, str(SCRIPT), "d_main"], stderr=subprocess.PIPE, text=True) as launched:
        deadline = threading.Timer(150, end_all, [launched.pid])
        deadline.start()
        for line in launched.stderr:
            has_stacks |= "in beat" in line
            found = re.search(r"process (\d) has made no progress for 5 s: it is in the phase '(.*)'", line)
            if found:
                told[int(found[1])] = found[2]
            if told == expected and has_stacks:
                break
        deadline.cancel()
        end_all(launched.pid)
    assert told == expected
    assert has_stacks
