"""The loop: change the leader in one way, measure both, keep or undo, name the bottleneck again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gantune.optimizing.knobs import is_same_way, list_changes
from gantune.quality.gate import Budget
from gantune.records.candidate import Interval, Measurement
from gantune.records.plan import Goal, PlannedCandidate
from gantune.records.search import Change

MIN_GAIN = 1.02
MAX_SMALL_GAINS = 2


@dataclass(frozen=True)
class ChangeTrial:
    """What trying one change showed: its gain over the leader, its cost, or why it cannot be kept."""

    gain: Interval | None
    measured: Measurement | None
    reason: str = ""


@dataclass(frozen=True)
class Workshop:
    """What the loop works with: trying a changed candidate beside the leader, profiling, and the clock."""

    try_change: Callable[[PlannedCandidate, PlannedCandidate], ChangeTrial]
    name_bottleneck: Callable[[PlannedCandidate], str]
    is_time_over: Callable[[], bool]


@dataclass(frozen=True)
class Refinement:
    """The candidate that leads after the loop, every change that was tried, and why the loop ended."""

    leader: PlannedCandidate
    tried: tuple[PlannedCandidate, ...]
    changes: tuple[Change, ...]
    end: str


def refine(
    leader: PlannedCandidate,
    measured: Measurement,
    workshop: Workshop,
    *,
    threads: int,
    goal: Goal,
    budget: Budget,
    known: Sequence[PlannedCandidate] = (),
) -> Refinement:
    """Change the leader until the goal is met, two changes in a row gain under 2 %, or nothing is left.

    A change is kept where the lower end of its paired gain exceeds 1 and its median reaches 1.02. Every
    change is made to the leader as it then is and measured with it, so gains are never multiplied. `known`
    candidates were tried already, and are not tried under another name.
    """
    changes: list[Change] = []
    tried: list[PlannedCandidate] = []
    names: set[str] = set()
    num_small = 0
    bottleneck = workshop.name_bottleneck(leader)
    while True:
        end = _find_end(measured, num_small, workshop, goal=goal, budget=budget)
        options = [
            (knob, changed)
            for knob, changed in list_changes(
                leader, threads=threads, bottleneck=bottleneck, tried=frozenset(names)
            )
            if not any(is_same_way(changed, other) for other in known)
        ]
        if end or not options:
            return Refinement(leader, tuple(tried), tuple(changes), end or "no change is left to try")
        knob, changed = options[0]
        names.add(knob.name)
        tried.append(changed)
        trial = workshop.try_change(leader, changed)
        is_kept = not trial.reason and trial.gain is not None and _is_worth(trial.gain)
        after = workshop.name_bottleneck(changed) if is_kept else ""
        changes.append(_record(knob.name, changed, trial, is_kept, bottleneck, after))
        num_small = 0 if is_kept else num_small + 1
        if is_kept and trial.measured is not None:
            leader, measured, bottleneck = changed, trial.measured, after


def _is_worth(gain: Interval) -> bool:
    return gain.low > 1 and gain.median >= MIN_GAIN


def _find_end(
    measured: Measurement, num_small: int, workshop: Workshop, *, goal: Goal, budget: Budget
) -> str:
    reached = name_reached_goal(measured, goal=goal, budget=budget)
    if reached:
        return reached
    if num_small >= MAX_SMALL_GAINS:
        return f"{MAX_SMALL_GAINS} changes in a row gained under 2 %"
    return "the time budget was used up" if workshop.is_time_over() else ""


def name_reached_goal(measured: Measurement, *, goal: Goal, budget: Budget) -> str:
    """Say which bound of the budget the goal's figure has reached, "" where none was set or reached."""
    if goal == "latency" and budget.max_latency_ms is not None:
        found = measured.latency_ms.p50
        if found <= budget.max_latency_ms:
            return f"the goal is reached: {found:.3g} ms of {budget.max_latency_ms:g} ms allowed"
    if (
        goal == "memory"
        and budget.max_peak_bytes is not None
        and measured.peak_bytes <= budget.max_peak_bytes
    ):
        mib = 2**20
        return (
            f"the goal is reached: {measured.peak_bytes / mib:.0f} MiB of "
            f"{budget.max_peak_bytes / mib:.0f} MiB allowed"
        )
    return ""


def _record(
    name: str, changed: PlannedCandidate, trial: ChangeTrial, is_kept: bool, before: str, after: str
) -> Change:
    if trial.reason or trial.gain is None:
        reason = trial.reason or "it could not be measured"
    else:
        gain = trial.gain
        sign = "kept" if is_kept else "undone"
        reason = f"{sign}: {gain.median:.2f}× ({gain.low:.2f} to {gain.high:.2f}) the leader before it"
    return Change(
        name=name,
        candidate=changed.name,
        why=changed.why,
        gain=trial.gain,
        is_kept=is_kept,
        reason=reason,
        bottleneck_before=before,
        bottleneck_after=after,
    )
