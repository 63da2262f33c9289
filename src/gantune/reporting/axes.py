"""Scales, ticks and SVG parts that the plots share."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape


@dataclass(frozen=True)
class Scale:
    """Map values in [low, high] onto pixels [start, end]; logarithmically where `is_log`."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    def __call__(self, value: float) -> float:
        """Give the pixel of a value; values outside the range land on its ends."""
        low, high, bounded = self.low, self.high, min(max(value, self.low), self.high)
        if self.is_log:
            low, high, bounded = math.log(low), math.log(high), math.log(bounded)
        return self.start + (self.end - self.start) * (bounded - low) / (high - low)


@dataclass(frozen=True)
class Frame:
    """The size of a plot and the margins around its drawing area, in pixels."""

    width: int
    height: int
    left: int = 48
    right: int = 16
    top: int = 16
    bottom: int = 44


def find_ticks(low: float, high: float, *, count: int = 5) -> list[float]:
    """Choose about `count` round values (1, 2 or 5 times a power of ten apart) inside [low, high]."""
    raw = (high - low) / max(1, count)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(index * step, 10) for index in range(first, last + 1)]


def find_log_ticks(low: float, high: float) -> list[float]:
    """Choose 1, 2 and 5 times each power of ten inside [low, high]."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    values = [10.0**power * factor for power in powers for factor in (1, 2, 5)]
    return [value for value in values if low <= value <= high]


def draw_text(x: float, y: float, text: str, *, kind: str = "", anchor: str = "start") -> Markup:
    """Draw one line of text."""
    return Markup(
        f'<text x="{x:.1f}" y="{y:.1f}" class="{escape(kind)}" text-anchor="{anchor}">{escape(text)}</text>'
    )


def draw_line(x1: float, y1: float, x2: float, y2: float, *, kind: str) -> Markup:
    """Draw a straight line; `kind` is its CSS class."""
    return Markup(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{escape(kind)}"/>')


def draw_path(points: Sequence[tuple[float, float]], *, kind: str) -> Markup:
    """Draw a line through points; `kind` is its CSS class."""
    joined = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return Markup(f'<path d="M{joined}" class="{escape(kind)}"/>')


def draw_vertical_axis(scale: Scale, frame: Frame, ticks: Sequence[float], *, digits: int = 0) -> Markup:
    """Draw a hairline and a label for each tick."""
    parts = []
    for tick in ticks:
        y = scale(tick)
        parts.append(draw_line(frame.left, y, frame.width - frame.right, y, kind="grid"))
        parts.append(draw_text(frame.left - 8, y + 4, f"{tick:.{digits}f}", kind="tick", anchor="end"))
    return Markup("").join(parts)


def draw_horizontal_axis(scale: Scale, y: float, ticks: Sequence[float]) -> Markup:
    """Draw a label under the line at `y` for each tick."""
    labels = [draw_text(scale(tick), y + 18, f"{tick:,g}", kind="tick", anchor="middle") for tick in ticks]
    return Markup("").join(labels)


def wrap_plot(frame: Frame, parts: Sequence[Markup], *, label: str, kind: str) -> Markup:
    """Close the parts in an `svg` that says in words what it shows."""
    return Markup(
        f'<svg class="plot {escape(kind)}" viewBox="0 0 {frame.width} {frame.height}" role="img" '
        f'aria-label="{escape(label)}">{Markup("").join(parts)}</svg>'
    )
