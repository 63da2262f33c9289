"""Whether a changed script trains the same: as much work a step, and losses where other seeds take them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gantune.profiling.script_record import ScriptRecord

# Losses may leave the range that the seeds span by this part of its size: few seeds span too little of it.
_SLACK = 1.0
# Exact remedies sum in another order.
_ROUNDING = 0.02
# Lazy regularization may give an optimizer a further step now and then.
_MIN_STEPS_RATIO = 0.75


@dataclass(frozen=True)
class Reference:
    """What the unchanged script does in its first `num_steps` steps; `ranges` are those of `mean_losses`."""

    record: ScriptRecord
    ranges: tuple[tuple[float, float], ...]
    num_steps: int


def observe_reference(records: Sequence[ScriptRecord], *, least_steps: int) -> Reference:
    """Make the reference from the unchanged script's record and records of it under other seeds."""
    num_steps = max(least_steps, min(record.num_steps for record in records))
    series = [mean_losses(record, num_steps) for record in records]
    whole = [losses for losses in series if len(losses) == len(series[0])]
    ranges = []
    for values in zip(*whole, strict=True):
        low, high = min(values), max(values)
        slack = _SLACK * (high - low) + _ROUNDING * max(abs(low), abs(high))
        ranges.append((low - slack, high + slack))
    return Reference(records[0], tuple(ranges), num_steps)


def mean_losses(record: ScriptRecord, num_steps: int) -> list[float]:
    """Average the losses by their place in the step, the first and the second half of the steps apart."""
    by_place: dict[tuple[int, bool], list[float]] = {}
    place, last = 0, -1
    for step, loss in record.losses:
        place = place + 1 if step == last else 0
        last = step
        if step < num_steps:
            by_place.setdefault((place, step >= num_steps / 2), []).append(loss)
    return [float(np.mean(values)) for _, values in sorted(by_place.items())]


def find_difference(reference: Reference, record: ScriptRecord) -> str | None:
    """Say in a sentence what a changed script does differently, None where it trains the same."""
    return _less_work(reference.record, record) or _other_losses(reference, record)


def _less_work(before: ScriptRecord, after: ScriptRecord) -> str | None:
    for was, now in ((before.batch_size, after.batch_size), (_loaded(before), _loaded(after))):
        if was != now:
            return f"it trains on batches of {now} instead of {was}"
    trained = [[one.num_trained for one in record.optimizers] for record in (before, after)]
    if trained[0] != trained[1]:
        return f"its optimizers train {trained[1]} weights instead of {trained[0]}"
    for number, often in _steps_of_optimizers(before).items():
        seen = _steps_of_optimizers(after).get(number, 0.0)
        if seen < _MIN_STEPS_RATIO * often:
            return f"an optimizer steps {seen:.2g} times a step instead of {often:.2g}"
    return None


def _loaded(record: ScriptRecord) -> int | None:
    return None if record.loader is None else record.loader.batch_size


def _steps_of_optimizers(record: ScriptRecord) -> dict[int, float]:
    """Count every optimizer's steps in a step of the script."""
    stage = record.stage_named("plain")
    counts = Counter(number for number, _, _ in stage.optimizer_steps)
    return {number: count / max(len(stage.boundaries) - 1, 1) for number, count in counts.items()}


def _other_losses(reference: Reference, record: ScriptRecord) -> str | None:
    found = mean_losses(record, reference.num_steps)
    if len(found) != len(reference.ranges):
        return f"{len(found)} mean losses instead of {len(reference.ranges)}"
    for loss, (low, high) in zip(found, reference.ranges, strict=True):
        if not low <= loss <= high:
            return f"a loss is {loss:.4g}, outside of {low:.4g} to {high:.4g} where other seeds take it"
    return None
