"""Try remedies on a script one at a time, keep what is faster and trains the same, profile again."""

import math
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gantune.errors import ScriptError
from gantune.measuring.bootstrap import bootstrap_median
from gantune.profiling.launch.options import WatchOptions
from gantune.profiling.script_profile import profile_script
from gantune.profiling.script_record import ScriptRecord
from gantune.records.candidate import Interval
from gantune.records.tuning import Attempt, Bottleneck, Tuning
from gantune.tuning.remedies import Remedy, list_remedies
from gantune.tuning.trial import BOOTSTRAP, Trial, TrialOptions, run_trial

# A change whose last two keepings gained less than this is not worth another round.
SMALL_GAIN = 1.02
# One look decides whether a remedy is worth confirming: clearly slower is not.
_PROMISING = 1.02
_LOSS_TOLERANCE = 0.02
_SEED_CALL = "gantune.tuning.apply:shift_seed"


@dataclass(frozen=True, kw_only=True)
class TuneOptions:
    """Say when to stop: `goal` is a factor in steps per second; `num_pairs` confirm a promising remedy."""

    goal: float | None = None
    num_pairs: int = 3
    num_seeds: int = 3
    max_rounds: int = 4
    trial: TrialOptions = field(default_factory=TrialOptions)


@dataclass
class _State:
    command: tuple[str, ...]
    options: TuneOptions
    report: Callable[[str], None]
    kept: list[Remedy] = field(default_factory=list)
    gains: list[float] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    bottlenecks: list[Bottleneck] = field(default_factory=list)
    spread: list[tuple[float, float]] = field(default_factory=list)
    round: int = 0


def tune_script(
    command: Sequence[str],
    options: TuneOptions,
    *,
    report: Callable[[str], None] = lambda _text: None,
    catalogue: Callable[[ScriptRecord], tuple[Remedy, ...]] = list_remedies,
) -> Tuning:
    """Speed a training script up from outside; the script is not changed.

    Each remedy runs alone on top of what was kept, in fresh processes paired with the script as it then is.
    It is kept when every pair is faster and the losses stay where other seeds take them. Raises `ScriptError`
    where the script cannot be watched.
    """
    state = _State(tuple(command), options, report)
    first = run_trial(command, (), options.trial)
    if first.record is None:
        raise ScriptError(first.failure)
    _look_for_bottleneck(state, "nothing")
    state.spread = _spread_of_losses(state, first)
    remedies = []
    for remedy in catalogue(first.record):
        reason = remedy.why_not(first.record)
        if reason is None:
            remedies.append(remedy)
        else:
            state.attempts.append(Attempt(name=remedy.name, status="not_tried", reason=reason, round=0))
    stopped = _run_rounds(state, remedies)
    return _conclude(state, first, stopped)


def _run_rounds(state: _State, remedies: list[Remedy]) -> str:
    for number in range(1, state.options.max_rounds + 1):
        state.round = number
        remedies = _in_order(remedies, state)
        chosen, gain, remedies = _best_of(state, remedies)
        if chosen is None or gain is None:
            return "no remedy is left that gains beyond noise"
        state.kept.append(chosen)
        state.gains.append(gain.median)
        state.report(f"kept {chosen.name}: {gain.median:.2f}×")
        _look_for_bottleneck(state, chosen.name)
        if state.options.goal is not None and math.prod(state.gains) >= state.options.goal:
            return f"the goal of {state.options.goal:g}× is met"
        if len(state.gains) > 1 and max(state.gains[-2:]) < SMALL_GAIN:
            return "the last two kept changes gained less than 2 %"
        remedies = [one for one in remedies if not one.group or one.group != chosen.group]
    return f"{state.options.max_rounds} rounds are over"


def _best_of(state: _State, remedies: list[Remedy]) -> tuple[Remedy | None, Interval | None, list[Remedy]]:
    """Look at every remedy once, confirm from the most promising on, and give the first that holds."""
    base = run_trial(state.command, state.kept, state.options.trial)
    looks: list[tuple[float, Remedy]] = []
    for remedy in remedies:
        state.report(f"trying {remedy.name}")
        trial = run_trial(state.command, [*state.kept, remedy], state.options.trial)
        reason = _reason_against(state, base, trial)
        if reason is None:
            looks.append((base.step_ms / trial.step_ms, remedy))
        else:
            _note(state, remedy, trial, reason, base)
    for _, remedy in sorted(looks, key=lambda look: -look[0]):
        gain = _confirm(state, remedy)
        if gain is not None and gain.low > 1.0:
            _attempt(state, remedy, "kept", "faster in every pair, losses within the spread of seeds", gain)
            left = [other for _, other in looks if other is not remedy]
            return remedy, gain, left
        if gain is not None:
            _attempt(state, remedy, "rejected", "not faster beyond noise when measured again", gain)
    return None, None, []


def _reason_against(state: _State, base: Trial, trial: Trial) -> str | None:
    if trial.record is None:
        return trial.failure
    if base.step_ms / trial.step_ms < _PROMISING:
        return f"{base.step_ms / trial.step_ms:.2f}× in a first look"
    return _loss_problem(state, trial)


def _loss_problem(state: _State, trial: Trial) -> str | None:
    found = trial.losses(_num_steps(state))
    if len(found) != len(state.spread):
        return f"{len(found)} losses a step instead of {len(state.spread)}"
    for loss, (low, high) in zip(found, state.spread, strict=True):
        if not low <= loss <= high:
            return f"a loss is {loss:.4g}, outside of {low:.4g} to {high:.4g} where other seeds take it"
    return None


def _confirm(state: _State, remedy: Remedy) -> Interval | None:
    """Measure pairs in turned order; None where a pair fails."""
    ratios = []
    for number in range(state.options.num_pairs):
        pair = [state.kept, [*state.kept, remedy]]
        trials = [
            run_trial(state.command, one, state.options.trial) for one in pair[:: 1 if number % 2 else -1]
        ]
        base, changed = trials if number % 2 else trials[::-1]
        problem = changed.failure or _loss_problem(state, changed)
        if problem or base.record is None:
            _attempt(
                state, remedy, "failed" if changed.failure else "rejected", problem or base.failure, None
            )
            return None
        ratios.append(base.step_ms / changed.step_ms)
    return bootstrap_median(ratios)


def _spread_of_losses(state: _State, first: Trial) -> list[tuple[float, float]]:
    """Give for every loss of a step the range in which other seeds leave it."""
    seeds = [
        run_trial(state.command, (), state.options.trial, calls=(f"{_SEED_CALL}:{offset}",))
        for offset in range(1, state.options.num_seeds)
    ]
    series = [trial.losses(_num_steps(state)) for trial in (first, *seeds)]
    whole = [losses for losses in series if len(losses) == len(series[0])]
    ranges = []
    for values in zip(*whole, strict=True):
        low, high = min(values), max(values)
        slack = (high - low) / 2 + _LOSS_TOLERANCE * max(abs(low), abs(high))
        ranges.append((low - slack, high + slack))
    return ranges


def _num_steps(state: _State) -> int:
    """Compare the steps that every process takes at least."""
    return state.options.trial.warmup_steps + state.options.trial.steps


def _in_order(remedies: list[Remedy], state: _State) -> list[Remedy]:
    """Put first what answers the bottleneck of the moment."""
    kind = state.bottlenecks[-1].kind if state.bottlenecks else ""
    return sorted(remedies, key=lambda remedy: kind not in remedy.kinds)


def _look_for_bottleneck(state: _State, after: str) -> None:
    options = WatchOptions(
        folder=Path(),
        is_stopping=True,
        remedies=tuple(call for remedy in state.kept for call in remedy.calls),
    )
    environment = {name: value for remedy in state.kept for name, value in remedy.environment.items()}
    found = profile_script(
        state.command,
        options,
        command_line="gantune tune",
        bootstrap=BOOTSTRAP,
        environment=environment,
        is_quiet=True,
    )
    finding = found.profiles[0][0].findings[0]
    text = finding.evidence[0].text if finding.evidence else finding.remedy
    state.bottlenecks.append(Bottleneck(after=after, kind=finding.kind, share=finding.share, text=text))


def _note(state: _State, remedy: Remedy, trial: Trial, reason: str, base: Trial) -> None:
    status = "failed" if trial.record is None else "rejected"
    steps_s = None if trial.record is None else 1e3 / trial.step_ms
    state.attempts.append(
        Attempt(name=remedy.name, status=status, reason=reason, round=state.round, steps_s=steps_s)  # type: ignore[arg-type]
    )


def _attempt(state: _State, remedy: Remedy, status: str, reason: str, gain: Interval | None) -> None:
    state.attempts.append(
        Attempt(name=remedy.name, status=status, reason=reason, round=state.round, gain=gain)  # type: ignore[arg-type]
    )


def _conclude(state: _State, first: Trial, stopped: str) -> Tuning:
    last = run_trial(state.command, state.kept, state.options.trial) if state.kept else first
    gain = math.prod(state.gains)
    environment = {name: value for remedy in state.kept for name, value in remedy.environment.items()}
    variables = [f"{name}={value}" for name, value in environment.items()]
    return Tuning(
        command=state.command,
        before_steps_s=1e3 / first.step_ms,
        after_steps_s=1e3 / last.step_ms,
        gain=gain,
        attempts=tuple(state.attempts),
        kept=tuple(remedy.name for remedy in state.kept),
        bottlenecks=tuple(state.bottlenecks),
        stopped_because=stopped,
        environment=environment,
        lines=tuple(line for remedy in state.kept for line in remedy.lines),
        permanent_command=" ".join([*variables, shlex.join(state.command)]),
    )
