"""One short window of a script in a fresh process, with remedies: how fast it steps, and its losses."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gantune.errors import GantuneError
from gantune.profiling.launch.launcher import run_watched
from gantune.profiling.launch.options import WatchOptions
from gantune.profiling.script_record import ScriptRecord, read_record
from gantune.tuning.remedies import Remedy

BOOTSTRAP = "gantune.tuning.bootstrap"


@dataclass(frozen=True, kw_only=True)
class TrialOptions:
    """Say how long a window is."""

    warmup_steps: int = 3
    steps: int = 8


@dataclass(frozen=True)
class Trial:
    """What one process showed; `failure` is a sentence where it died."""

    record: ScriptRecord | None
    failure: str = ""

    @property
    def step_ms(self) -> float:
        """Give the median step; infinite where there is none."""
        found = None if self.record is None else self.record.as_is_ms
        return float("inf") if found is None else found

    def losses(self, num_steps: int) -> list[float]:
        """Average the first steps' losses by their place in the step; empty where there are none."""
        if self.record is None:
            return []
        by_place: dict[int, list[float]] = {}
        place, last = 0, -1
        for step, loss in self.record.losses:
            place = place + 1 if step == last else 0
            last = step
            if step < num_steps:
                by_place.setdefault(place, []).append(loss)
        return [float(np.mean(values)) for _, values in sorted(by_place.items())]


def run_trial(
    command: Sequence[str],
    remedies: Sequence[Remedy],
    options: TrialOptions,
    *,
    calls: Sequence[str] = (),
) -> Trial:
    """Run the script with remedies until a window of plain steps is over, then end it."""
    environment = {name: value for remedy in remedies for name, value in remedy.environment.items()}
    watch = WatchOptions(
        folder=Path(),
        warmup_steps=options.warmup_steps,
        plain_steps=options.steps,
        sampled_steps=0,
        captured_steps=0,
        is_stopping=True,
        remedies=(*calls, *(call for remedy in remedies for call in remedy.calls)),
    )
    try:
        with run_watched(
            command, watch, bootstrap=BOOTSTRAP, environment=environment, is_quiet=True
        ) as watched:
            return Trial(read_record(watched.records[0]).record)
    except GantuneError as error:
        if error.exit_code == 130:
            raise
        return Trial(None, str(error))
