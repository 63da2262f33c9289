"""Which host event contains which: parents and self times from starts and durations."""

import numpy as np
from numpy.typing import NDArray

from gantune.profiling.trace.events import Floats, Integers, Kind, Mask, Trace

HOST_KINDS = (Kind.OPERATOR, Kind.RUNTIME, Kind.RANGE, Kind.STEP)
# Clocks round to whole microseconds in old traces: a child may seem to end after its parent.
_SLACK_US = 1.5


def find_parents(trace: Trace, rows: Integers) -> Integers:
    """Give for each of `rows` the row of the innermost other one that contains it on its track, or −1."""
    parents = np.full(len(rows), -1, dtype=np.int64)
    order = np.lexsort((-trace.duration_us[rows], trace.start_us[rows], trace.track[rows]))
    start = trace.start_us[rows][order].tolist()
    end = trace.end_us[rows][order].tolist()
    track = trace.track[rows][order].tolist()
    found: list[int] = [-1] * len(order)
    stack: list[int] = []
    for index in range(len(order)):
        while stack and (track[stack[-1]] != track[index] or end[stack[-1]] <= start[index] + 1e-9):
            stack.pop()
        while stack and end[stack[-1]] + _SLACK_US < end[index]:
            stack.pop()
        found[index] = stack[-1] if stack else -1
        stack.append(index)
    ranked = np.array(found, dtype=np.int64)
    inside = ranked >= 0
    parents[order[inside]] = rows[order[ranked[inside]]]
    return parents


def self_times(trace: Trace, rows: Integers, parents: Integers) -> Floats:
    """Give the microseconds of each of `rows` that no child of it takes."""
    children = np.zeros(trace.num_events)
    inside = parents >= 0
    np.add.at(children, parents[inside], trace.duration_us[rows[inside]])
    return np.maximum(trace.duration_us[rows] - children[rows], 0.0)


def nearest_ancestor(rows: Integers, parents: Integers, is_wanted: Mask) -> Integers:
    """Give for each of `rows` itself or its innermost ancestor that is wanted (a mask of all rows), or −1."""
    answer: dict[int, int] = {-1: -1}
    parent_of = dict(zip(rows.tolist(), parents.tolist(), strict=True))
    result: list[int] = []
    for row in rows.tolist():
        path: list[int] = []
        at = row
        while at not in answer and not is_wanted[at]:
            path.append(at)
            at = parent_of.get(at, -1)
        found = answer.get(at, at)
        answer.update(dict.fromkeys(path, found))
        result.append(found)
    return np.array(result, dtype=np.int64)


def sum_by(keys: NDArray[np.integer], values: Floats, size: int) -> Floats:
    """Add up values by integer key."""
    if not len(keys):
        return np.zeros(size)
    return np.bincount(keys, weights=values, minlength=size)[:size].astype(np.float64)
