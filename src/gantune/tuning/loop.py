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
# Short windows of one script differ by less than this: two pairs that both gain more need no third.
_CLEAR_GAIN = 1.25
_CLEAR_PAIRS = 2
_SEED_CALL = "gantune.tuning.apply:shift_seed"


@dataclass(frozen=True, kw_only=True)
class TuneOptions:
    """Say when to stop: `goal` is a factor in steps per second; `num_pairs` confirm a promising remedy."""

    goal: float | None = None
    num_pairs: int = 3
    num_seeds: int = 4
    max_rounds: int = 8
    trial: TrialOptions = field(default_factory=TrialOptions)


@dataclass
class _State:
    command: tuple[str, ...]
    options: TuneOptions
    report: Callable[[str], None]
    reference: Reference
    catalogue: Callable[[ScriptRecord], tuple[Remedy, ...]]
    known: set[str] = field(default_factory=set)
    waiting: list[Remedy] = field(default_factory=list)
    slow: list[Remedy] = field(default_factory=list)
    kept: list[Remedy] = field(default_factory=list)
    gains: list[float] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    bottlenecks: list[Bottleneck] = field(default_factory=list)
    round: int = 0

    def run(self, *remedies: Remedy) -> Trial:
        """Run the script with what was kept and more; of one group, what comes last counts."""
        return run_trial(self.command, [*self._without_groups_of(*remedies), *remedies], self.options.trial)

    def _without_groups_of(self, *remedies: Remedy) -> list[Remedy]:
        """Give what was kept and is of no group of these remedies."""
        groups = {remedy.group for remedy in remedies if remedy.group}
        return [remedy for remedy in self.kept if remedy.group not in groups]

    def learn(self, record: ScriptRecord) -> None:
        """Add what the catalogue has for the script as it now is: how many workers, say, depends on it."""
        for remedy in self.catalogue(record):
            if remedy.name in self.known:
                continue
            self.known.add(remedy.name)
            reason = remedy.why_not(record)
            if reason is None:
                self.waiting.append(remedy)
            else:
                self.note(remedy, "not_tried", reason)

    def keep(self, remedy: Remedy, gain: Interval) -> None:
        """Keep a remedy; what did nothing before waits for another try where the bottleneck has moved."""
        self.kept = [*self._without_groups_of(remedy), remedy]
        self.gains.append(gain.median)
        again = [*self.waiting, *(self.slow if gain.median >= _MOVING_GAIN else [])]
        self.slow = []
        self.waiting = [one for one in again if one is not remedy and one.group != (remedy.group or None)]

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

    Each remedy runs alone on top of what was kept, in fresh processes paired with the script as it then is:
    first what answers the bottleneck, and where that gains much, everything else on the faster script.
    A remedy is kept when every pair is faster, a step does as much work, and the losses stay where other
    seeds take them. Raises `ScriptError` where the script cannot be watched.
    """
    report("running the script as it is")
    first = run_trial(command, (), options.trial)
    if first.record is None:
        raise ScriptError(first.failure)
    report(f"running it under {options.num_seeds - 1} other seeds, to see how far its losses vary")
    reference = _observe_seeds(command, options, first.record)
    state = _State(tuple(command), options, report, reference, catalogue)
    _look_for_bottleneck(state, "nothing")
    stopped = _run_rounds(state, first)
    return _conclude(state, first, stopped)


def _observe_seeds(command: Sequence[str], options: TuneOptions, first: ScriptRecord) -> Reference:
    seeds = [
        run_trial(command, (), options.trial, calls=(f"{_SEED_CALL}:{offset}",))
        for offset in range(1, options.num_seeds)
    ]
    records = [first, *(trial.record for trial in seeds if trial.record is not None)]
    return observe_reference(records, least_steps=options.trial.warmup_steps + options.trial.steps)


def _run_rounds(state: _State, base: Trial) -> str:
    """Keep one remedy a round; give the reason to stop."""
    for number in range(1, state.options.max_rounds + 1):
        state.round = number
        if number > 1:
            base = state.run()
        if base.record is None:
            return f"the script failed with what was kept: {base.failure}"
        state.learn(base.record)
        chosen, gain = _find_one(state, base)
        if chosen is None or gain is None:
            return "no remedy is left that gains beyond noise"
        state.keep(chosen, gain)
        state.report(f"kept {chosen.name}: {gain.median:.2f}×")
        _look_for_bottleneck(state, chosen.name)
        if state.options.goal is not None and math.prod(state.gains) >= state.options.goal:
            return f"the goal of {state.options.goal:g}× is met"
        if len(state.gains) > 1 and max(state.gains[-2:]) < SMALL_GAIN:
            return "the last two kept changes gained less than 2 %"
    return f"{state.options.max_rounds} rounds are over"


def _find_one(state: _State, base: Trial) -> tuple[Remedy | None, Interval | None]:
    """Give the remedy that gains most, and how much; a clear answer to the bottleneck ends the search."""
    kind = state.bottlenecks[-1].kind
    waiting, state.waiting = state.waiting, []
    answers = [remedy for remedy in waiting if kind in remedy.kinds]
    others = [remedy for remedy in waiting if kind not in remedy.kinds]
    looks = _look_at_each(state, base, answers)
    clear = [look for look in looks if look[0] >= _CLEAR_GAIN]
    chosen, gain = _confirm_best(state, clear)
    if chosen is not None:
        # Of the clear ones those that were not confirmed wait already, or were refused.
        state.waiting += [look[1] for look in looks if look not in clear] + others
        return chosen, gain
    looks = [look for look in looks if look not in clear] + _look_at_each(state, base, others)
    return _confirm_best(state, looks)


def _look_at_each(state: _State, base: Trial, remedies: list[Remedy]) -> list[tuple[float, Remedy]]:
    """Look at every remedy once; give those that promise something with their speedup."""
    looks: list[tuple[float, Remedy]] = []
    for remedy in remedies:
        state.report(f"trying {remedy.name}")
        trial = state.run(remedy)
        speedup = base.step_ms / trial.step_ms
        if trial.record is None:
            state.note(remedy, "failed", trial.failure)
        elif speedup < _PROMISING:
            state.note(remedy, "rejected", f"{speedup:.2f}× in a first look", trial=trial)
            state.slow.append(remedy)
        elif (problem := find_difference(state.reference, trial.record)) is not None:
            state.note(remedy, "rejected", problem, trial=trial)
        else:
            looks.append((speedup, remedy))
    return looks


def _confirm_best(state: _State, looks: list[tuple[float, Remedy]]) -> tuple[Remedy | None, Interval | None]:
    """Confirm from the most promising remedy on, and give the first that holds; others wait."""
    order = [remedy for _, remedy in sorted(looks, key=lambda look: -look[0])]
    for place, remedy in enumerate(order):
        gain = _confirm(state, remedy)
        if gain is not None and gain.low > 1:
            state.note(remedy, "kept", "faster in every pair, losses within the spread of seeds", gain=gain)
            state.waiting += order[place + 1 :]
            return remedy, gain
        if gain is not None:
            state.note(remedy, "rejected", "not faster beyond noise when measured again", gain=gain)
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
        is_clear = len(ratios) >= _CLEAR_PAIRS and min(ratios) >= _CLEAR_GAIN
        if is_clear or ratios[-1] <= 1:
            break
    return bootstrap_median(ratios)


def _look_for_bottleneck(state: _State, after: str) -> None:
    """Profile the script as it now is; what was kept must not be lost because that fails."""
    options = WatchOptions(
        folder=Path(),
        warmup_steps=state.options.trial.warmup_steps,
        plain_steps=2,
        sampled_steps=2,
        captured_steps=2,
        is_stopping=True,
        remedies=list_calls(state.kept),
    )
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
