"""Padding and factors as the field writes them: one number, [x, y], or [x0, x1, y0, y1]."""

from collections.abc import Sequence
from typing import NamedTuple

from gantune.errors import UsageError


class Padding(NamedTuple):
    """Samples added (negative: cropped) at the left, right, top and bottom."""

    x0: int
    x1: int
    y0: int
    y1: int

    def grow(self, x0: int, x1: int, y0: int, y1: int) -> "Padding":
        """Return this padding enlarged at each side by the given number of samples."""
        return Padding(self.x0 + x0, self.x1 + x1, self.y0 + y0, self.y1 + y1)


def parse_padding(padding: int | Sequence[int]) -> Padding:
    """Read one number, [x, y] or [x0, x1, y0, y1]; raise UsageError for anything else."""
    if isinstance(padding, int):
        return Padding(padding, padding, padding, padding)
    values = tuple(padding)
    if len(values) == 2:
        return Padding(values[0], values[0], values[1], values[1])
    if len(values) == 4:
        return Padding(*values)
    raise UsageError(f"padding is one number, [x, y] or [x0, x1, y0, y1], found {list(values)}")


def parse_factor(factor: int | Sequence[int], *, name: str) -> tuple[int, int]:
    """Read a factor given as one number or [x, y]; raise UsageError unless it is whole and at least 1."""
    values = (factor, factor) if isinstance(factor, int) else tuple(factor)
    if len(values) != 2 or min(values) < 1:
        raise UsageError(f"{name} is a whole number of at least 1 (or [x, y]), found {factor!r}")
    return values[0], values[1]
