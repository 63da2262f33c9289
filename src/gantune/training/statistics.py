"""`training_stats.jsonl`: one line a tick, as the field writes it: a mean, spread and count for each name."""

import json
from collections.abc import Mapping
from pathlib import Path

import torch

from gantune.machine.whole_files import write_text
from gantune.training.game import Records

Statistics = dict[str, dict[str, float]]
STATISTICS_FILE = "training_stats.jsonl"


def summarize(records: Records) -> Statistics:
    """Return number, mean and standard deviation of what was recorded under each name."""
    statistics: Statistics = {}
    for name, values in records.items():
        stacked = torch.stack([value.cpu() for value in values]).double()
        statistics[name] = {
            "num": len(values),
            "mean": float(stacked.mean()),
            "std": float(stacked.std(correction=0)),
        }
    return statistics


def single(value: float) -> dict[str, float]:
    """Return the statistics of one number."""
    return {"num": 1, "mean": float(value), "std": 0.0}


def append_line(folder: Path, line: Mapping[str, object]) -> None:
    """Add one line; what is not a number is written as null, since JSON has no NaN."""
    text = json.dumps(_without_nan(line), allow_nan=False)
    with (folder / STATISTICS_FILE).open("a") as stream:
        stream.write(text + "\n")


def cut_after(path: Path, num_images: int) -> None:
    """Drop the lines of a killed run that lie behind the state from which it resumes."""
    if not path.exists():
        return
    kept = []
    for text in path.read_text().splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            continue  # the process was killed while it wrote this line
        if line["num_images"] <= num_images:
            kept.append(text)
    write_text(path, "".join(text + "\n" for text in kept))


def _without_nan(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None
    return value
