"""The spectrum plot: azimuthally averaged log power of the original and the best, and their difference."""

from collections.abc import Sequence

from markupsafe import Markup

from gantune.records.report import SpectrumCurve
from gantune.reporting.axes import (
    Frame,
    Scale,
    draw_horizontal_axis,
    draw_line,
    draw_path,
    draw_text,
    draw_vertical_axis,
    find_ticks,
    wrap_plot,
)

FREQUENCY_TICKS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
GAP = 34


def draw_spectra(curves: Sequence[SpectrumCurve], *, is_narrow: bool) -> Markup:
    """Draw the curves above and, below, what each differs from the first, in dB."""
    frame = Frame(350, 360) if is_narrow else Frame(760, 400)
    floor = frame.height - frame.bottom
    split = frame.top + (floor - frame.top) * 0.62
    horizontal = Scale(0, 0.5, frame.left, frame.width - frame.right)
    parts = [
        *_draw_power(curves, horizontal, frame, split),
        *_draw_difference(curves, horizontal, frame, split + GAP),
        draw_horizontal_axis(horizontal, floor, FREQUENCY_TICKS),
        draw_text(frame.width - frame.right, frame.height - 6, "cycles a pixel →", kind="tick", anchor="end"),
    ]
    return wrap_plot(frame, parts, label=describe_spectra(curves), kind="narrow" if is_narrow else "wide")


def describe_spectra(curves: Sequence[SpectrumCurve]) -> str:
    """Say in words how far each curve is from the first."""
    told = [f"{curve.name} differs by at most {_largest(curve, curves[0]):.2f} dB" for curve in curves[1:]]
    return f"Power spectrum of the pictures, compared with {curves[0].name}: " + "; ".join(told) + "."


def _largest(curve: SpectrumCurve, first: SpectrumCurve) -> float:
    return max(map(abs, _differences(curve, first)), default=0.0)


def _differences(curve: SpectrumCurve, first: SpectrumCurve) -> list[float]:
    return [mine - theirs for mine, theirs in zip(curve.power_db, first.power_db, strict=True)]


def _draw_power(
    curves: Sequence[SpectrumCurve], horizontal: Scale, frame: Frame, bottom: float
) -> list[Markup]:
    powers = [power for curve in curves for power in curve.power_db]
    margin = max(1.0, (max(powers) - min(powers)) * 0.06)
    vertical = Scale(min(powers) - margin, max(powers) + margin, bottom, frame.top)
    parts = [draw_vertical_axis(vertical, frame, find_ticks(vertical.low, vertical.high))]
    for index, curve in enumerate(curves):
        points = [(horizontal(f), vertical(p)) for f, p in zip(curve.frequency, curve.power_db, strict=True)]
        parts.append(draw_path(points, kind=f"curve curve-{index}"))
        y = frame.top + 14 + 18 * index
        right = frame.width - frame.right - 4
        parts.append(draw_line(right - 22, y - 4, right, y - 4, kind=f"curve curve-{index}"))
        parts.append(draw_text(right - 28, y, curve.name, kind="label", anchor="end"))
    return parts


def _draw_difference(
    curves: Sequence[SpectrumCurve], horizontal: Scale, frame: Frame, top: float
) -> list[Markup]:
    floor = frame.height - frame.bottom
    reach = max([0.05, *(_largest(curve, curves[0]) for curve in curves[1:])]) * 1.15
    vertical = Scale(-reach, reach, floor, top)
    digits = 0 if reach >= 4 else 2 if reach < 0.4 else 1
    ticks = find_ticks(-reach, reach, count=4)
    parts = [
        draw_vertical_axis(vertical, frame, ticks, digits=digits),
        draw_text(frame.left, top - 10, "difference, dB", kind="tick"),
    ]
    for index, curve in enumerate(curves[1:], start=1):
        differences = _differences(curve, curves[0])
        points = [(horizontal(f), vertical(d)) for f, d in zip(curve.frequency, differences, strict=True)]
        parts.append(draw_path(points, kind=f"curve curve-{index}"))
    return parts
