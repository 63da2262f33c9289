"""Time painted with nested ranges: which range is innermost at a moment."""

from collections.abc import Sequence

import numpy as np

from gantune.profiling.trace.events import Floats, Integers


class Painting:
    """Ranges laid over each other, later starts and shorter ones on top."""

    def __init__(self, start: Floats, end: Floats) -> None:
        order = np.lexsort((-(end - start), start))
        self._edges: Floats = np.unique(np.concatenate([start, end]))
        self._owner = np.full(max(len(self._edges) - 1, 0), -1, dtype=np.int64)
        first, last = np.searchsorted(self._edges, start), np.searchsorted(self._edges, end)
        for place in order:
            self._owner[first[place] : last[place]] = place

    @classmethod
    def of(cls, ranges: Sequence[tuple[float, float]]) -> "Painting":
        """Paint pairs of start and end."""
        table = np.array(ranges, dtype=np.float64).reshape(-1, 2)
        return cls(table[:, 0], table[:, 1])

    def owner_at(self, times: Floats) -> Integers:
        """Give for each time the number of its innermost range, or −1."""
        if not len(self._owner):
            return np.full(len(times), -1, dtype=np.int64)
        place = np.searchsorted(self._edges, times, side="right") - 1
        inside = (place >= 0) & (place < len(self._owner))
        return np.where(inside, self._owner[np.clip(place, 0, len(self._owner) - 1)], -1)

    def own_time(self, count: int) -> Floats:
        """Give each range's time in which it is innermost."""
        total = np.zeros(count)
        painted = self._owner >= 0
        np.add.at(total, self._owner[painted], np.diff(self._edges)[painted])
        return total
