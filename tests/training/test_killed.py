"""A run that is killed at random moments ends bit-equal to one that was left alone."""

import random
import signal
import subprocess
import sys
import time

import pytest
import torch
from safetensors.torch import load_file

from gantune.training.run_folder import STATE_FILE
from training_samples import write_dataset

OPTIONS = (
    *("--cond", "--batch", "8", "--kimg", "1.6", "--cbase", "64", "--cmax", "8", "--latent-dim", "8"),
    *("--map-depth", "2", "--tick", "0.016", "--snap", "2", "--workers", "1", "--p", "0.3", "--mirror"),
)


def start(folder, *extra):
    command = [
        sys.executable,
        "-m",
        "gantune",
        "train",
        "--outdir",
        folder / "runs",
        "--data",
        folder / "data.zip",
    ]
    return subprocess.Popen(
        [*map(str, command), *OPTIONS, *map(str, extra)], stderr=subprocess.PIPE, text=True
    )


def finish(process):
    _, errors = process.communicate(timeout=200)
    assert process.returncode == 0, errors


@pytest.mark.slow
def test_five_kills_leave_no_trace(tmp_path):
    for name in ("alone", "killed"):
        (tmp_path / name).mkdir()
        write_dataset(tmp_path / name / "data.zip")
    finish(start(tmp_path / "alone"))
    (alone,) = (tmp_path / "alone" / "runs").iterdir()

    moments = random.Random(4)
    folder, resume, states = tmp_path / "killed", (), []
    for _ in range(5):
        process = start(folder, *resume)
        run = folder / "runs" / alone.name
        state = run / STATE_FILE
        before = state.stat().st_mtime_ns if state.exists() else 0
        while not state.exists() or state.stat().st_mtime_ns == before:
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.005)
        time.sleep(moments.uniform(0, 0.5))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        states.append(state.stat().st_mtime_ns)
        resume = ("--resume", run)
    assert len(set(states)) == 5
    finish(start(folder, *resume))

    expected, found = load_file(alone / STATE_FILE), load_file(run / STATE_FILE)
    assert found.keys() == expected.keys()
    assert not [name for name in expected if not torch.equal(found[name], expected[name])]
    assert not list(run.glob(".*"))
