"""Short operators on a host, and the short pauses between them that are their dispatch."""

import re
from dataclasses import dataclass

import numpy as np

from gantune.profiling.observation import Observation
from gantune.profiling.trace.events import BACKWARD, Floats, Integers

# Between two operators of a chain, Python and the dispatcher take microseconds; longer is other work.
DISPATCH_US = 20.0
# A step takes tensors apart some times; a loop over channels or samples does it this often.
LOOP_REPEATS = 200
_READING = ("aten::item", "aten::is_nonzero", "aten::_local_scalar_dense")
_TAKING_APART = re.compile(r"^aten::(select|slice|index|narrow|unbind|split|index_put_|masked_select)$")


@dataclass(frozen=True)
class SmallWork:
    """The operators with less than a limit of own work, and what they cost.

    `fixed_us` is the part that would be the same with less or more to work on: for each call the least that
    any call of this operator takes, and the pauses.
    """

    rows: Integers
    cost_us: float
    fixed_us: float
    num_a_step: float
    most_repeats: float
    repeated: str


def weigh_small_work(seen: Observation, rows: Integers, own_us: Floats, *, limit_us: float) -> SmallWork:
    """Weigh the operators among `rows` whose own work is below the limit, with the pauses that follow them.

    `most_repeats` counts a step's calls of the operator, by name and shapes, that the script itself repeats
    most: backward passes, and what operators call inside, are no loop of the script's.
    """
    trace = seen.trace
    is_small = own_us < limit_us
    small = rows[is_small]
    num_steps = max(len(seen.steps), 1)
    pauses_us = _pauses(seen, rows, is_small)
    cost_us = float(own_us[is_small].sum()) + pauses_us
    least = np.full(len(trace.names), np.inf)
    np.minimum.at(least, trace.name[small], own_us[is_small])
    fixed_us = float(least[trace.name[small]].sum()) + pauses_us
    ahead = small[((trace.types[small] & BACKWARD) == 0) & ~_is_nested(seen)[small]]
    key = trace.name[ahead].astype(np.int64) * (len(trace.shapes) + 2) + trace.shape[ahead] + 1
    numbers, counts = np.unique(key, return_counts=True)
    repeats, name = 0.0, ""
    if len(counts):
        best = int(np.argmax(counts))
        repeats = float(counts[best]) / num_steps
        name = trace.names[int(numbers[best] // (len(trace.shapes) + 2))]
    return SmallWork(small, cost_us, fixed_us, len(rows) / num_steps, repeats, name)


def _is_nested(seen: Observation) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Mark the host's events that another operator contains."""
    rows, parents = seen.host_rows, seen.host_parents
    operator = np.full(seen.trace.num_events, -1, dtype=np.int64)
    operator[rows] = seen.operator_of
    is_nested = np.zeros(seen.trace.num_events, dtype=bool)
    is_nested[rows] = (parents >= 0) & (operator[np.maximum(parents, 0)] >= 0)
    return is_nested


def find_taking_apart(seen: Observation, rows: Integers) -> Integers:
    """Give the operators among `rows` that take a part out of a tensor to work on it.

    Backward passes are left out, and values that are only read: those are `synchronization`.
    """
    trace = seen.trace
    taking = rows[seen.named(lambda name: bool(_TAKING_APART.match(name)))[rows]]
    ahead = taking[(trace.types[taking] & BACKWARD) == 0]
    following = np.minimum(np.searchsorted(trace.start_us[rows], trace.end_of(ahead)), len(rows) - 1)
    is_read = seen.named(lambda name: name in _READING)[rows[following]]
    worked_on: Integers = ahead[~is_read]
    return worked_on


def is_taken_apart(seen: Observation, rows: Integers) -> bool:
    """Say whether a step takes tensors apart so often that it loops over their parts."""
    return len(find_taking_apart(seen, rows)) >= LOOP_REPEATS * max(len(seen.steps), 1)


def _pauses(
    seen: Observation, rows: Integers, is_small: "np.ndarray[tuple[int], np.dtype[np.bool_]]"
) -> float:
    """Add up the short pauses after outermost operators that are small, on the main thread."""
    trace = seen.trace
    on_main = trace.track[rows] == seen.main_track
    mine, small = rows[on_main], is_small[on_main]
    if len(mine) < 2:
        return 0.0
    reach = np.maximum.accumulate(trace.end_of(mine))
    pause = trace.start_us[mine][1:] - reach[:-1]
    counted = (pause > 0) & (pause < DISPATCH_US) & small[:-1]
    return float(pause[counted].sum())
