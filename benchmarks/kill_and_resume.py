"""Train a run alone, and again killed at random moments and resumed; compare their states bit by bit."""

import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file

from gantune.training.run_folder import STATE_FILE

LONGEST_DELAY_S = 3.0


@dataclass(frozen=True)
class KillReport:
    """How often the run was killed behind a new state, and the tensors that differ in the end."""

    num_kills: int
    num_tensors: int
    differing: tuple[str, ...]


def kill_and_resume(folder: Path, options: Sequence[str], *, num_kills: int = 5, seed: int = 4) -> KillReport:
    """Run `gantune train` with `options` in `folder` twice, the second time killed `num_kills` times."""
    alone = _finish(_start(folder / "alone", options), folder / "alone")
    moments = random.Random(seed)
    killed, resume = folder / "killed", []
    for _ in range(num_kills):
        process = _start(killed, [*options, *resume])
        state = killed / alone.name / STATE_FILE
        before = _modified(state)
        while _modified(state) == before:
            if process.poll() is not None:
                raise RuntimeError(f"the run ended before it was killed, with {process.returncode}")
            time.sleep(0.005)
        time.sleep(moments.uniform(0, LONGEST_DELAY_S))
        process.send_signal(signal.SIGKILL)
        if process.wait() != -signal.SIGKILL:
            raise RuntimeError("the run ended before it was killed: give it more images")
        resume = ["--resume", str(state.parent)]
    resumed = _finish(_start(killed, [*options, *resume]), killed)
    expected, found = load_file(alone / STATE_FILE), load_file(resumed / STATE_FILE)
    names = sorted(expected.keys() | found.keys())
    differing = [
        name
        for name in names
        if name not in expected or name not in found or not torch.equal(expected[name], found[name])
    ]
    return KillReport(num_kills, len(names), tuple(differing))


def _start(outdir: Path, options: Sequence[str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "gantune", "train", "--outdir", str(outdir), *options]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)


def _finish(process: subprocess.Popen[bytes], outdir: Path) -> Path:
    if process.wait() != 0:
        raise RuntimeError(f"training failed with {process.returncode}")
    (run,) = outdir.iterdir()
    return run


def _modified(path: Path) -> int:
    return path.stat().st_mtime_ns if path.exists() else 0
