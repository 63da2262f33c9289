"""`gantune profile -- python SCRIPT`: what it must refuse, and that the script is left alone."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

GAN = Path(__file__).parents[1] / "planted" / "plain_loop.py"
# Every process imports torch anew, which takes a minute on a machine that does much else.
_TIMEOUT_S = 500
pytestmark = pytest.mark.timeout(2 * _TIMEOUT_S)
WORKERS = """
import torch
from torch.utils.data import DataLoader, TensorDataset
if __name__ == "__main__":
    weight = torch.nn.Parameter(torch.zeros(8))
    optimizer = torch.optim.SGD([weight], 0.1)
    data = DataLoader(TensorDataset(torch.randn(4096, 8)), 4, num_workers=1, multiprocessing_context="spawn")
    for (batch,) in data:
        optimizer.zero_grad()
        (batch @ weight).sum().backward()
        optimizer.step()
"""


def profile(*arguments: object, options: tuple[str, ...] = ()) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "gantune", "profile", *options, "--", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S)


def write(folder: Path, text: str) -> Path:
    path = folder / "train.py"
    path.write_text(text)
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "import torch\nraise ValueError('no faces here')\n",
            "crashed before enough steps were seen: ValueError",
        ),
        ("import torch\nprint('done')\n", "never took a training step"),
        ("print('no torch')\n", "without importing torch"),
        ("import torch, os\nos._exit(3)\n", "ended with exit status 3"),
        (
            "import torch\nw = torch.nn.Parameter(torch.zeros(2))\no = torch.optim.SGD([w], 0.1)\n"
            "for _ in range(2):\n    w.sum().backward()\n    o.step()\n",
            "ended after 2 steps, inside the warm-up",
        ),
    ],
    ids=["crash", "never-steps", "no-torch", "exit-status", "early-exit"],
)
def test_a_script_that_cannot_be_profiled_is_one_sentence_and_exit_code_8(
    tmp_path: Path, text: str, sentence: str
) -> None:
    found = profile(sys.executable, write(tmp_path, text))
    assert found.returncode == 8
    last = found.stderr.strip().splitlines()[-1]
    assert last.startswith("gantune: ")
    assert sentence in last
    assert found.stdout == ""


@pytest.mark.slow
def test_a_command_that_is_not_there_is_exit_code_8_and_no_command_is_2() -> None:
    missing = profile("no-such-interpreter", "train.py")
    assert (missing.returncode, "could not be started" in missing.stderr) == (8, True)
    assert profile().returncode == 2


@pytest.mark.slow
def test_dashes_after_the_first_are_the_script_s_and_its_output_stays_off_stdout(tmp_path: Path) -> None:
    script = write(tmp_path, "import sys\nprint(sys.argv[1:])\n")
    found = profile(sys.executable, script, "--", "--depth", "3")
    assert "['--', '--depth', '3']" in found.stderr
    assert found.stdout == ""


@pytest.mark.slow
def test_a_script_with_spawned_workers_is_profiled(tmp_path: Path) -> None:
    found = profile(sys.executable, write(tmp_path, WORKERS), options=("--stop-after", "--json"))
    assert found.returncode == 0, found.stderr
    document = json.loads(found.stdout)
    assert document["script"]["loader_workers"] == 1
    assert document["script"]["step_source"] == "optimizer"


@pytest.mark.slow
def test_a_gan_is_profiled_unchanged_and_ended_afterwards(tmp_path: Path) -> None:
    before = GAN.read_bytes()
    options = ("--stop-after", "--json", "--out", str(tmp_path / "out"))
    found = profile(sys.executable, GAN, "--steps", "100000", options=options)
    assert found.returncode == 0, found.stderr
    document = json.loads(found.stdout)
    assert GAN.read_bytes() == before
    assert {phase["name"] for phase in document["phases"]} >= {"G main", "D main", "data", "optimizer"}
    assert (tmp_path / "out" / "trace.json.gz").stat().st_size < 50_000_000
    assert json.loads((tmp_path / "out" / "profile.json").read_text()) == document
