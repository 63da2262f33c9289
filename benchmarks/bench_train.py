"""`make bench-train`: the trainer with its speed switches against the same trainer with every switch off.

Every configuration is a process of its own (`train_steps.py`). They take turns, round by round, so that a
slow minute of the machine hits all of them; ratios are paired by round. Losses are compared before any time
is shown. Rounds are taken as long as the subject's share of `--minutes` lasts, start and memory included.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from publish import publish

from gantune.measuring import bootstrap_median
from gantune.records.figures import Figure

WORKER = Path(__file__).with_name("train_steps.py")
NUM_ROUNDS, FEWEST_ROUNDS = 15, 3
MINUTES = 9.0
# The look at the memory takes the steps of a round, each tensor counted.
ROUNDS_FOR_MEMORY = 2
LOSS_BOUND = 1e-3
BF16_LOSS_BOUND = 2e-2
TIME_BAR, MEMORY_BAR = 0.70, 0.80

OFF: dict[str, object] = {
    "implementation": "reference",
    "precision": "fp32",
    "channels_last": False,
    "fused_optimizer": False,
    "grouped_average": False,
    "workers": 0,
    "tuned_allocator": False,
}
# Switched on one after the other: each row of the table is the one before and this.
SWITCHES: tuple[tuple[str, dict[str, object]], ...] = (
    ("portable and native operations", {"implementation": "auto"}),
    ("channels-last", {"channels_last": True}),
    ("fused optimizer and average", {"fused_optimizer": True, "grouped_average": True}),
    ("a worker that reads ahead", {"workers": 1}),
    ("tuned allocator", {"tuned_allocator": True}),
    ("bf16 convolutions in the main phases", {"precision": "bf16"}),
)
# Each of these on top of all switches; not every machine or network gains.
EXTRAS: tuple[tuple[str, dict[str, object]], ...] = (
    ("recomputed blocks", {"checkpointing": True}),
    ("two backward passes a batch", {"accumulation": 2}),
    ("compiled main phases", {"compiled": True}),
)
SUBJECTS: dict[str, dict[str, object]] = {
    "StyleGAN2 64²": {
        "cfg": "stylegan2",
        "resolution": 64,
        "channel_base": 2048,
        "channel_max": 64,
        "batch": 8,
    },
    "StyleGAN3-T 32²": {
        "cfg": "stylegan3-t",
        "resolution": 32,
        "channel_base": 1024,
        "channel_max": 32,
        "batch": 8,
    },
}


@dataclass
class Stepper:
    """A process that takes steps when it is told to and answers with one line of JSON."""

    name: str
    switches: Mapping[str, object]
    process: subprocess.Popen[str]

    @classmethod
    def start(cls, name: str, subject: Mapping[str, object], switches: Mapping[str, object]) -> "Stepper":
        command = [sys.executable, str(WORKER), json.dumps(dict(subject)), json.dumps(dict(switches))]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return cls(name, switches, process)

    def ask(self, order: str) -> dict[str, float]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(order + "\n")
        self.process.stdin.flush()
        answer: dict[str, float] = json.loads(self.process.stdout.readline())
        return answer

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def measure(name: str, subject: Mapping[str, object], *, seconds: float) -> list[Figure]:
    """Compare the losses, then take turns, and return the rows of one subject."""
    end = time.monotonic() + seconds
    steppers = [Stepper.start("off", subject, OFF)]
    switches = dict(OFF)
    for label, change in SWITCHES:
        switches = switches | change
        steppers.append(Stepper.start(label, subject, switches))
    last = len(steppers) - 1
    steppers += [Stepper.start(label, subject, switches | change) for label, change in EXTRAS]
    losses = [stepper.ask("losses") for stepper in steppers]
    rows = [
        check_losses(name, stepper, found, losses[0])
        for stepper, found in zip(steppers[1:], losses[1:], strict=True)
    ]
    if any(row.met is False for row in rows):
        return rows
    rounds = take_rounds(steppers, end=end)
    memory = [stepper.ask("memory") for stepper in steppers]
    for stepper in steppers:
        stepper.end()
    ratios = np.array(rounds) / np.array(rounds)[:, :1]
    for index, stepper in enumerate(steppers[1:], start=1):
        is_last = index == last
        interval = bootstrap_median(ratios[:, index].tolist())
        label = "all switches" if is_last else f"+ {stepper.name}"
        if index > last:
            label = f"all switches + {stepper.name}"
        how = f"paired over {len(rounds)} interleaved rounds of 4 steps, all phases; last: {stepper.name}"
        rows.append(
            ratio_row(
                f"{name}: step time, {label}",
                interval.median,
                interval.low,
                interval.high,
                how,
                TIME_BAR if is_last else None,
            )
        )
        for kind in ("live_bytes", "rss_bytes"):
            ratio = memory[index][kind] / memory[0][kind]
            unit = kind.replace("_bytes", "").replace("live", "live tensors").replace("rss", "RSS")
            how = f"{memory[index][kind] / 2**20:.0f} of {memory[0][kind] / 2**20:.0f} MiB"
            rows.append(
                ratio_row(
                    f"{name}: peak {unit}, {label}", ratio, None, None, how, MEMORY_BAR if is_last else None
                )
            )
    return rows


def take_rounds(steppers: Sequence[Stepper], *, end: float) -> list[list[float]]:
    """Let every stepper take its steps in turn until there is no time for another round before `end`."""
    rounds: list[list[float]] = []
    longest = 0.0
    while len(rounds) < NUM_ROUNDS:
        begin = time.monotonic()
        if len(rounds) >= FEWEST_ROUNDS and begin + (1 + ROUNDS_FOR_MEMORY) * longest > end:
            break
        rounds.append([stepper.ask("round")["ms"] for stepper in steppers])
        longest = max(longest, time.monotonic() - begin)
    return rounds


def ratio_row(
    name: str, value: float, low: float | None, high: float | None, how: str, bar: float | None
) -> Figure:
    met = None if bar is None else value <= bar
    text = None if bar is None else f"≤ {bar:.2f}"
    return Figure(name=name, value=value, unit="×", low=low, high=high, bar=text, met=met, how=how)


def check_losses(name: str, stepper: Stepper, found: dict[str, float], expected: dict[str, float]) -> Figure:
    bound = BF16_LOSS_BOUND if stepper.switches["precision"] == "bf16" else LOSS_BOUND
    worst = max(abs(found[key] - expected[key]) / max(1.0, abs(expected[key])) for key in expected)
    return Figure(
        name=f"{name}: losses of the first step, {stepper.name}",
        value=worst,
        unit="",
        bar=f"≤ {bound:g}",
        met=worst <= bound,
        how="largest difference of loss, R1 and path length from the plain trainer's, relative where above 1",
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=MINUTES, help="time for all subjects together")
    seconds = parser.parse_args().minutes * 60 / len(SUBJECTS)
    rows = [row for name, subject in SUBJECTS.items() for row in measure(name, subject, seconds=seconds)]
    return publish("bench-train", rows)


if __name__ == "__main__":
    sys.exit(main())
