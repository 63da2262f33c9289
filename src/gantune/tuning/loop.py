"""Try remedies on a script one at a time, keep what is faster and trains the same, profile again."""

import math
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gantune.errors import GantuneError, InterruptedRunError, ScriptError
from gantune.measuring.bootstrap import bootstrap_median
from gantune.profiling.launch.options import WatchOptions
from gantune.profiling.script_profile import profile_script
from gantune.profiling.script_record import ScriptRecord
from gantune.records.candidate import Interval
from gantune.records.tuning import Attempt, AttemptStatus, Bottleneck, Tuning
from gantune.tuning.remedies import Remedy, list_remedies
from gantune.tuning.sameness import Reference, find_difference, observe_reference
from gantune.tuning.trial import BOOTSTRAP, Trial, TrialOptions, join_environments, list_calls, run_trial

# A change whose last two keepings gained less than this is not worth another round.
SMALL_GAIN = 1.02
# One look decides whether a remedy is worth confirming: clearly slower is not.
_PROMISING = 1.02
# After a gain like this the bottleneck has moved, and what did nothing before may do something now.
_MOVING_GAIN = 1.1
_SEED_CALL = "gantune.tuning.apply:shift_seed"


@dataclass(frozen=True, kw_only=True)
class TuneOptions:
    """Say when to stop: `goal` is a factor in steps per second; `num_pairs` confirm a promising remedy."""

    goal: float | None = None
    num_pairs: int = 3
    num_seeds: int = 4
    max_rounds: int = 6
    trial: TrialOptions = field(default_factory=TrialOptions)


@dataclass
class _State:
    command: tuple[str, ...]
    options: TuneOptions
    report: Callable[[str], None]
    reference: Reference
    kept: list[Remedy] = field(default_factory=list)
    gains: list[float] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    bottlenecks: list[Bottleneck] = field(default_factory=list)
    round: int = 0

    def run(self, *remedies: Remedy) -> Trial:
        """Run the script with what was kept and more."""
        return run_trial(self.command, [*self.kept, *remedies], self.options.trial)

    def note(
        self,
        remedy: Remedy,
        status: AttemptStatus,
        reason: str,
        *,
        trial: Trial | None = None,
        gain: Interval | None = None,
    ) -> None:
        """Write down what became of a remedy."""
        steps_s = None if trial is None or trial.record is None else 1e3 / trial.step_ms
        self.attempts.append(
            Attempt(
                name=remedy.name, status=status, reason=reason, round=self.round, steps_s=steps_s, gain=gain
            )
        )


def tune_script(
    command: Sequence[str],
    options: TuneOptions,
    *,
    report: Callable[[str], None] = lambda _text: None,
    catalogue: Callable[[ScriptRecord], tuple[Remedy, ...]] = list_remedies,
) -> Tuning:
    """Speed a training script up from outside; the script is not changed.

    Each remedy runs alone on top of what was kept, in fresh processes paired with the script as it then is.
    It is kept when every pair is faster, a step does as much work, and the losses stay where other seeds take
    them. Raises `ScriptError` where the script cannot be watched.
    """
    report("running the script as it is")
    first = run_trial(command, (), options.trial)
    if first.record is None:
        raise ScriptError(first.failure)
    report(f"running it under {options.num_seeds - 1} other seeds, to see how far its losses vary")
    state = _State(tuple(command), options, report, _observe_seeds(command, options, first.record))
    _look_for_bottleneck(state, "nothing")
    remedies = []
    for remedy in catalogue(first.record):
        reason = remedy.why_not(first.record)
        if reason is None:
            remedies.append(remedy)
        else:
            state.note(remedy, "not_tried", reason)
    stopped = _run_rounds(state, remedies)
    return _conclude(state, first, stopped)


def _observe_seeds(command: Sequence[str], options: TuneOptions, first: ScriptRecord) -> Reference:
    seeds = [
        run_trial(command, (), options.trial, calls=(f"{_SEED_CALL}:{offset}",))
        for offset in range(1, options.num_seeds)
    ]
    records = [first, *(trial.record for trial in seeds if trial.record is not None)]
    return observe_reference(records, least_steps=options.trial.warmup_steps + options.trial.steps)


def _run_rounds(state: _State, remedies: list[Remedy]) -> str:
    """Keep one remedy a round; give the reason to stop."""
    for number in range(1, state.options.max_rounds + 1):
        state.round = number
        promising, slow = _look_at_each(state, _in_order(remedies, state))
        chosen, gain = _confirm_best(state, promising)
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
        again = [*promising, *(slow if gain.median >= _MOVING_GAIN else [])]
        remedies = [one for one in again if one is not chosen and one.group != (chosen.group or None)]
    return f"{state.options.max_rounds} rounds are over"


def _look_at_each(state: _State, remedies: list[Remedy]) -> tuple[list[Remedy], list[Remedy]]:
    """Look at every remedy once; give those that promise something, best first, and those that do not."""
    base = state.run()
    looks: list[tuple[float, Remedy]] = []
    slow: list[Remedy] = []
    for remedy in remedies:
        state.report(f"trying {remedy.name}")
        trial = state.run(remedy)
        speedup = base.step_ms / trial.step_ms
        if trial.record is None:
            state.note(remedy, "failed", trial.failure)
        elif speedup < _PROMISING:
            state.note(remedy, "rejected", f"{speedup:.2f}× in a first look", trial=trial)
            slow.append(remedy)
        elif (problem := find_difference(state.reference, trial.record)) is not None:
            state.note(remedy, "rejected", problem, trial=trial)
        else:
            looks.append((speedup, remedy))
    return [remedy for _, remedy in sorted(looks, key=lambda look: -look[0])], slow


def _confirm_best(state: _State, promising: list[Remedy]) -> tuple[Remedy | None, Interval | None]:
    """Confirm from the most promising remedy on, and give the first that holds; others leave the list."""
    for remedy in list(promising):
        gain = _confirm(state, remedy)
        if gain is not None and gain.low > 1.0:
            state.note(remedy, "kept", "faster in every pair, losses within the spread of seeds", gain=gain)
            return remedy, gain
        if gain is not None:
            state.note(remedy, "rejected", "not faster beyond noise when measured again", gain=gain)
        promising.remove(remedy)
    return None, None


def _confirm(state: _State, remedy: Remedy) -> Interval | None:
    """Measure pairs in turned order; None where a pair fails, which is noted."""
    state.report(f"confirming {remedy.name}")
    ratios = []
    for number in range(state.options.num_pairs):
        if number % 2:
            base, changed = state.run(), state.run(remedy)
        else:
            changed, base = state.run(remedy), state.run()
        if changed.record is None or base.record is None:
            state.note(remedy, "failed", changed.failure or base.failure)
            return None
        problem = find_difference(state.reference, changed.record)
        if problem is not None:
            state.note(remedy, "rejected", problem, trial=changed)
            return None
        ratios.append(base.step_ms / changed.step_ms)
    return bootstrap_median(ratios)


def _in_order(remedies: list[Remedy], state: _State) -> list[Remedy]:
    """Put first what answers the bottleneck of the moment."""
    kind = state.bottlenecks[-1].kind
    return sorted(remedies, key=lambda remedy: kind not in remedy.kinds)


def _look_for_bottleneck(state: _State, after: str) -> None:
    """Profile the script as it now is; what was kept must not be lost because that fails."""
    options = WatchOptions(folder=Path(), is_stopping=True, remedies=list_calls(state.kept))
    state.report(f"profiling the script with {after} changed")
    try:
        found = profile_script(
            state.command,
            options,
            command_line="gantune tune",
            bootstrap=BOOTSTRAP,
            environment=join_environments(state.kept),
            is_quiet=True,
        )
    except InterruptedRunError:
        raise
    except GantuneError as error:
        state.bottlenecks.append(Bottleneck(after=after, kind="not_seen", share=None, text=str(error)))
        return
    finding = found.profiles[0][0].findings[0]
    text = finding.evidence[0].text if finding.evidence else finding.remedy
    state.bottlenecks.append(Bottleneck(after=after, kind=finding.kind, share=finding.share, text=text))


def _conclude(state: _State, first: Trial, stopped: str) -> Tuning:
    before, after = [first.step_ms], [first.step_ms]
    if state.kept:
        state.report("measuring everything kept against the script as it is")
        pairs = [
            (run_trial(state.command, (), state.options.trial), state.run())
            for _ in range(state.options.num_pairs)
        ]
        whole = [pair for pair in pairs if pair[0].record is not None and pair[1].record is not None]
        if not whole:
            raise ScriptError(f"{shlex.join(state.command)} could not be run again: {pairs[0][0].failure}")
        before, after = [one.step_ms for one, _ in whole], [one.step_ms for _, one in whole]
    environment = join_environments(state.kept)
    variables = [f"{name}={value}" for name, value in environment.items()]
    return Tuning(
        command=state.command,
        before_steps_s=1e3 / bootstrap_median(before).median,
        after_steps_s=1e3 / bootstrap_median(after).median,
        gain=bootstrap_median([a / b for a, b in zip(before, after, strict=True)]),
        attempts=tuple(state.attempts),
        kept=tuple(remedy.name for remedy in state.kept),
        bottlenecks=tuple(state.bottlenecks),
        stopped_because=stopped,
        environment=environment,
        lines=tuple(line for remedy in state.kept for line in remedy.lines),
        permanent_command=" ".join([*variables, shlex.join(state.command)]),
    )
