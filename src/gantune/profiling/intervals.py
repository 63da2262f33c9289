"""Sets of time: disjoint intervals in order, with union, intersection and difference."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_EMPTY: Floats = np.zeros(0)


@dataclass(frozen=True)
class Intervals:
    """Disjoint, sorted intervals [start, end) in microseconds; empty ones are dropped."""

    start: Floats
    end: Floats

    @classmethod
    def union(cls, start: Floats, end: Floats) -> "Intervals":
        """Merge intervals that may overlap and come in any order."""
        is_real = end > start
        start, end = start[is_real], end[is_real]
        if len(start) == 0:
            return cls(_EMPTY, _EMPTY)
        order = np.argsort(start, kind="stable")
        start, reach = start[order], np.maximum.accumulate(end[order])
        is_first = np.concatenate([[True], start[1:] > reach[:-1]])
        is_last = np.concatenate([is_first[1:], [True]])
        return cls(start[is_first], reach[is_last])

    @classmethod
    def single(cls, start: float, end: float) -> "Intervals":
        """Make one interval."""
        return cls.union(np.array([start]), np.array([end]))

    @property
    def total(self) -> float:
        """Give the summed length."""
        return float((self.end - self.start).sum())

    def longer_than(self, length: float) -> "Intervals":
        """Keep the intervals that are longer."""
        is_long = self.end - self.start > length
        return Intervals(self.start[is_long], self.end[is_long])

    def covers(self, times: Floats) -> NDArray[np.bool_]:
        """Mark the times that lie inside."""
        if len(self.start) == 0:
            return np.zeros(len(times), dtype=bool)
        index = np.searchsorted(self.start, times, side="right") - 1
        return (index >= 0) & (times < self.end[np.maximum(index, 0)])

    def intersect(self, other: "Intervals") -> "Intervals":
        """Keep what both cover."""
        return self._combine(other, keep_other=True)

    def subtract(self, other: "Intervals") -> "Intervals":
        """Keep what the other does not cover."""
        return self._combine(other, keep_other=False)

    def _combine(self, other: "Intervals", *, keep_other: bool) -> "Intervals":
        edges = np.unique(np.concatenate([self.start, self.end, other.start, other.end]))
        if len(edges) < 2:
            return Intervals(_EMPTY, _EMPTY)
        middles = (edges[1:] + edges[:-1]) / 2
        kept = self.covers(middles) & (other.covers(middles) == keep_other)
        return Intervals.union(edges[:-1][kept], edges[1:][kept])


def union_all(parts: Iterable[Intervals]) -> Intervals:
    """Merge several sets into one."""
    found = list(parts)
    if not found:
        return Intervals(_EMPTY, _EMPTY)
    return Intervals.union(np.concatenate([p.start for p in found]), np.concatenate([p.end for p in found]))
