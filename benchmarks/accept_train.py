"""The acceptance figures of the trainer: `benchmarks/results/accept-train.json`.

The trained samples are judged by `scripts/make_sample.py`, whose cards are read here. Data:
`python scripts/fetch_training_data.py`.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from kill_and_resume import kill_and_resume
from publish import ROOT, publish
from safetensors.torch import load_file

from gantune.records.figures import Figure

DATA = ROOT / ".cache" / "training" / "fashion-mnist-32.zip"
RECIPE = ROOT / "recipes" / "fashion-mnist-32.yaml"
SAMPLES = ROOT / "samples"


def judge_sample(name: str, bars: dict[str, float]) -> list[Figure]:
    """Read the figures of a sample's card; those in `bars` are held to at least that much."""
    path = SAMPLES / f"{name}.json"
    if not path.exists():
        missing = {"unit": "", "met": False, "how": "the sample is not made yet"}
        return [
            Figure(name=f"{name}: {key}", value=None, bar=f"≥ {bar:g}", **missing)
            for key, bar in bars.items()
        ]
    figures = json.loads(path.read_text())["figures"]
    how = f"scripts/make_sample.py, {figures['kimg']} kimg, {figures['features']}"
    rows = []
    for key, value in figures.items():
        if isinstance(value, float) and key != "data_wait_share":
            bar = bars.get(key)
            met = None if bar is None else value >= bar
            text = None if bar is None else f"≥ {bar:g}"
            rows.append(Figure(name=f"{name}: {key}", value=value, unit="", bar=text, met=met, how=how))
    waited = figures.get("data_wait_share")
    if waited is not None:
        met, how = waited <= 0.02, "mean data wait over mean step time of the whole run"
        row = f"{name}: data wait, share of the step time"
        rows.append(Figure(name=row, value=waited, unit="", bar="≤ 0.02", met=met, how=how))
    return rows


def kill_on_fashion_mnist() -> Figure:
    """Two thousand images, killed five times."""
    options = ["--recipe", str(RECIPE), "--data", str(DATA)]
    options += ["--kimg", "2", "--tick", "0.064", "--snap", "2"]
    with tempfile.TemporaryDirectory() as folder:
        report = kill_and_resume(Path(folder), options)
    return Figure(
        name="2 kimg on Fashion-MNIST, killed five times: tensors that differ from the undisturbed run",
        value=len(report.differing),
        unit="",
        bar="= 0",
        met=not report.differing and report.num_kills == 5,
        how=f"SIGKILL at random moments, then --resume; {report.num_tensors} tensors, bit by bit",
    )


def train_with_two_processes() -> Figure:
    """Twenty steps with torchrun."""
    script = ROOT / "tests" / "training" / "two_processes.py"
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command += [str(script)]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([*command, folder, "20", "none", "stylegan2"], check=True, capture_output=True)
        first, second = (load_file(Path(folder) / f"rank{rank}.safetensors") for rank in range(2))
    differing = [name for name in first if not first[name].equal(second[name])]
    return Figure(
        name="torchrun --nproc-per-node=2 on CPU: tensors that differ between the ranks after 20 steps",
        value=len(differing),
        unit="",
        bar="= 0",
        met=not differing,
        how=f"{len(first)} tensors of networks, average and optimizers, bit by bit",
    )


def main() -> int:
    rows = judge_sample(
        "fashion-mnist-32", {"classifier_test_accuracy": 0.88, "classes_as_asked": 0.8, "recall": 0.3}
    )
    rows += judge_sample("emoji-32", {"recall": 0.2})
    rows += [kill_on_fashion_mnist(), train_with_two_processes()]
    return publish("accept-train", rows)


if __name__ == "__main__":
    sys.exit(main())
