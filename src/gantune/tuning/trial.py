"""One short window of a script in a fresh process, with remedies: how fast it steps, and its record."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gantune.errors import GantuneError, InterruptedRunError
from gantune.profiling.launch.launcher import run_watched
from gantune.profiling.launch.options import WatchOptions
from gantune.profiling.script_record import ScriptRecord, read_record
from gantune.tuning.remedies import Remedy

BOOTSTRAP = "gantune.tuning.bootstrap"


@dataclass(frozen=True, kw_only=True)
class TrialOptions:
    """Say how long a window is: timed steps, at least as many as take `min_window_s`."""

    warmup_steps: int = 2
    steps: int = 4
    min_window_s: float = 1.0


@dataclass(frozen=True)
class Trial:
    """What one process showed; `failure` is a sentence where it died."""

    record: ScriptRecord | None
    failure: str = ""

    @property
    def step_ms(self) -> float:
        """Give the mean step, since loader workers deliver in bursts; infinite where there is none."""
        times = [] if self.record is None else self.record.stage_named("plain").step_ms
        return sum(times) / len(times) if times else float("inf")


def run_trial(
    command: Sequence[str],
    remedies: Sequence[Remedy],
    options: TrialOptions,
    *,
    calls: Sequence[str] = (),
) -> Trial:
    """Run the script with remedies until a window of plain steps is over, then end it."""
    watch = WatchOptions(
        folder=Path(),
        warmup_steps=options.warmup_steps,
        plain_steps=options.steps,
        sampled_steps=0,
        captured_steps=0,
        min_stage_s=options.min_window_s,
        is_stopping=True,
        remedies=(*calls, *list_calls(remedies)),
    )
    environment = join_environments(remedies)
    try:
        with run_watched(
            command, watch, bootstrap=BOOTSTRAP, environment=environment, is_quiet=True
        ) as watched:
            trial = Trial(read_record(watched.records[0]).record)
    except InterruptedRunError:
        raise
    except GantuneError as error:
        return Trial(None, str(error))
    return trial if trial.step_ms < float("inf") else Trial(None, "the script ended before a step was timed")


def list_calls(remedies: Sequence[Remedy]) -> tuple[str, ...]:
    """List what several remedies call in the script's process."""
    return tuple(call for remedy in remedies for call in remedy.calls)


def join_environments(remedies: Sequence[Remedy]) -> dict[str, str]:
    """Give the variables that several remedies set."""
    return {name: value for remedy in remedies for name, value in remedy.environment.items()}
