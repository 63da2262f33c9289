"""Which host event contains which: parents and self times from starts and durations."""

from array import array

import numpy as np
from numpy.typing import NDArray

from gantune.profiling.trace.events import Floats, Integers, Kind, Mask, Trace

HOST_KINDS = (Kind.OPERATOR, Kind.RUNTIME, Kind.RANGE, Kind.STEP)
# Clocks round to whole microseconds in old traces: a child may seem to end after its parent.
_SLACK_US = 1.5
# Rows are taken to Python in blocks: millions of them as Python numbers would not fit.
_BLOCK = 1 << 16


def find_parents(trace: Trace, rows: Integers) -> Integers:
    """Give for each of `rows` the row of the innermost other one that contains it on its track, or −1."""
    parents = np.full(len(rows), -1, dtype=np.int64)
    order = np.lexsort((-trace.duration_us[rows], trace.start_us[rows], trace.track[rows]))
    found = array("q")
    stack: list[tuple[int, float, int]] = []  # track, end, place in `order`
    for first in range(0, len(order), _BLOCK):
        block = rows[order[first : first + _BLOCK]]
        columns = (trace.track[block], trace.start_us[block], trace.end_of(block))
        for place, (track, start, end) in enumerate(zip(*(c.tolist() for c in columns), strict=True), first):
            while stack and (stack[-1][0] != track or stack[-1][1] <= start + 1e-9):
                stack.pop()
            while stack and stack[-1][1] + _SLACK_US < end:
                stack.pop()
            found.append(stack[-1][2] if stack else -1)
            stack.append((track, end, place))
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
    up = np.full(len(is_wanted), -1, dtype=np.int64)
    up[rows] = parents
    at = rows.copy()
    while (is_open := (at >= 0) & ~is_wanted[at]).any():
        at[is_open] = up[at[is_open]]
    return at


def sum_by(keys: NDArray[np.integer], values: Floats, size: int) -> Floats:
    """Add up values by integer key."""
    if not len(keys):
        return np.zeros(size)
    return np.bincount(keys, weights=values, minlength=size)[:size].astype(np.float64)
