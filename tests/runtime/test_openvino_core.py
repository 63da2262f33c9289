import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from artifact_samples import write_onnx_artifact

# Sessions end in the order in which they began; then a signal arrives on the signal stack that is left.
PROGRAM = """
import faulthandler, gc, os, signal, sys
import numpy as np
from gantune import runtime

faulthandler.enable()
z = np.zeros((1, 4), np.float32)
loaded = [runtime.load(sys.argv[1], threads=1) for _ in range(2)]
for artifact in loaded:
    artifact(z=z)
del artifact
while loaded:
    loaded.pop(0)
    gc.collect()
signal.signal(signal.SIGUSR1, lambda number, frame: print("signal", number == signal.SIGUSR1))
os.kill(os.getpid(), signal.SIGUSR1)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="signal stacks are Linux's")
def test_a_process_survives_signals_after_its_networks_are_gone(tmp_path: Path) -> None:
    write_onnx_artifact(tmp_path, engine="openvino")
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM), str(tmp_path)]
    outcome = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stdout == "signal True\n"
