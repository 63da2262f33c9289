"""The Pareto plot: what each candidate's latency buys and what it costs in image quality."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup, escape

from gantune.records.report import Report
from gantune.reporting.axes import (
    Frame,
    Scale,
    draw_horizontal_axis,
    draw_line,
    draw_path,
    draw_text,
    draw_vertical_axis,
    find_log_ticks,
    find_ticks,
    wrap_plot,
)

# Beyond this, differences are below what 8-bit pictures hold; such points stand together on the top line.
CEILING_DB = 80.0
CHARACTER_WIDTH = 6.7
PointKind = Literal["baseline", "kept", "best", "rejected"]


@dataclass(frozen=True)
class Point:
    """One subject: `quality_db` is None where its images are identical to the original's."""

    number: int | None
    name: str
    kind: PointKind
    latency_ms: float
    quality_db: float | None


def list_points(report: Report, numbers: dict[str, int]) -> list[Point]:
    """List both baselines and every candidate whose latency and quality are known."""
    points = [
        Point(None, name.replace("_", " "), "baseline", baseline.measured.latency_ms.p50, None)
        for name, baseline in report.baselines.items()
    ]
    for candidate in report.candidates:
        if candidate.latency_ms is None or candidate.quality is None:
            continue
        quality = candidate.quality
        error_db = quality.psnr_db if report.image_error == "range" else quality.snr_db
        is_best = report.best is not None and report.best.name == candidate.name
        kind: PointKind = "best" if is_best else "kept" if candidate.status == "kept" else "rejected"
        points.append(
            Point(numbers[candidate.name], candidate.name, kind, candidate.latency_ms.p50, error_db)
        )
    return points


def draw_tradeoff(
    points: Sequence[Point], *, budget_db: float | None, is_narrow: bool, budget_ms: float | None = None
) -> Markup:
    """Draw latency (lower is better) against quality (higher is better), with the frontier and the budget.

    The budget's bounds are lines: what lies below the one or right of the other is outside.

    The narrow form is made for 350 pixels and names candidates by number; baselines keep their names.
    """
    frame = Frame(350, 400, top=44) if is_narrow else Frame(760, 460, top=44)
    horizontal = _latency_scale(points, budget_ms, frame)
    vertical = _quality_scale(points, budget_db, frame)
    floor = frame.height - frame.bottom
    ticks = find_log_ticks if horizontal.is_log else find_ticks
    parts = [
        draw_vertical_axis(vertical, frame, find_ticks(vertical.low, CEILING_DB - 1)),
        draw_line(frame.left, frame.top, frame.width - frame.right, frame.top, kind="grid"),
        draw_text(frame.left - 8, frame.top + 4, f"≥ {CEILING_DB:g}", kind="tick", anchor="end"),
        draw_text(frame.left - 8, frame.top - 18, "dB", kind="tick", anchor="end"),
        draw_horizontal_axis(horizontal, floor, ticks(horizontal.low, horizontal.high)),
        draw_line(frame.left, floor, frame.width - frame.right, floor, kind="axis"),
        draw_text(
            frame.width - frame.right, frame.height - 6, "milliseconds a call →", kind="tick", anchor="end"
        ),
    ]
    if budget_db is not None:
        y = vertical(budget_db)
        parts.append(draw_line(frame.left, y, frame.width - frame.right, y, kind="budget"))
        parts.append(draw_text(frame.width - frame.right, y - 6, "budget", kind="budget-label", anchor="end"))
    if budget_ms is not None:
        x = horizontal(budget_ms)
        parts.append(draw_line(x, frame.top, x, floor, kind="budget"))
        parts.append(draw_text(x - 6, floor - 8, "budget", kind="budget-label", anchor="end"))
    placed = [(point, horizontal(point.latency_ms), vertical(_shown_db(point))) for point in points]
    parts.append(draw_path(_frontier(placed, frame), kind="frontier"))
    parts.extend(_draw_marks(placed))
    parts.extend(_draw_labels(placed, frame, is_narrow=is_narrow))
    return wrap_plot(frame, parts, label=_describe(points), kind="narrow" if is_narrow else "wide")


def _shown_db(point: Point) -> float:
    return CEILING_DB if point.quality_db is None else min(point.quality_db, CEILING_DB)


def _latency_scale(points: Sequence[Point], budget_ms: float | None, frame: Frame) -> Scale:
    values = [point.latency_ms for point in points] + ([] if budget_ms is None else [budget_ms])
    low, high = min(values), max(values)
    if high / low > 3:
        return Scale(low / 1.25, high * 1.25, frame.left, frame.width - frame.right, is_log=True)
    margin = (high - low) * 0.12 or low * 0.1
    return Scale(max(0.0, low - margin), high + margin, frame.left, frame.width - frame.right)


def _quality_scale(points: Sequence[Point], budget_db: float | None, frame: Frame) -> Scale:
    shown = [_shown_db(point) for point in points] + ([] if budget_db is None else [budget_db])
    low = min(60.0, 10 * ((min(shown) - 2) // 10))
    return Scale(low, CEILING_DB, frame.height - frame.bottom, frame.top)


def _frontier(placed: Sequence[tuple[Point, float, float]], frame: Frame) -> list[tuple[float, float]]:
    """Walk from the fastest point to the best-looking one, in steps."""
    steps: list[tuple[float, float]] = []
    for _, x, y in sorted(placed, key=lambda item: (item[1], item[2])):
        if not steps:
            steps.append((x, float(frame.height - frame.bottom)))
        if y < steps[-1][1]:
            steps += [(x, steps[-1][1]), (x, y)]
    return [*steps, (float(frame.width - frame.right), steps[-1][1])]


def _draw_marks(placed: Sequence[tuple[Point, float, float]]) -> list[Markup]:
    marks = []
    for point, x, y in placed:
        title = f"<title>{escape(point.name)}: {point.latency_ms:.3g} ms</title>"
        if point.kind == "baseline":
            corners = f"M{x:.1f} {y - 6:.1f}l6 6l-6 6l-6-6z"
            marks.append(Markup(f'<path d="{corners}" class="mark baseline">{title}</path>'))
        else:
            radius = 7 if point.kind == "best" else 5
            circle = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" class="mark {point.kind}">'
            marks.append(Markup(f"{circle}{title}</circle>"))
    return marks


Box = tuple[float, float, float, float]


def _draw_labels(
    placed: Sequence[tuple[Point, float, float]], frame: Frame, *, is_narrow: bool
) -> list[Markup]:
    """Put each label beside its mark where nothing stands yet; the best and the baselines choose first."""
    order = {"best": 0, "baseline": 1, "kept": 2, "rejected": 3}
    taken: list[Box] = [(x - 7, y - 7, x + 7, y + 7) for _, x, y in placed]
    labels = []
    for point, x, y in sorted(placed, key=lambda item: order[item[0].kind]):
        text = _label(point, is_narrow=is_narrow)
        box = _free_box(x, y, len(text) * CHARACTER_WIDTH, taken, frame)
        taken.append(box)
        labels.append(draw_text(box[0], box[3] - 4, text, kind=f"label {point.kind}"))
    return labels


def _label(point: Point, *, is_narrow: bool) -> str:
    if point.number is None:
        return point.name
    return f"{point.number}" if is_narrow else f"{point.number} {point.name}"


def _free_box(x: float, y: float, width: float, taken: Sequence[Box], frame: Frame) -> Box:
    corners = [(x + 10, y - 8), (x - 10 - width, y - 8)]
    for distance in range(10, 90, 8):
        for left in (x - 4, x - width + 4, x - width / 2):
            corners += [(left, y + distance), (left, y - distance - 16)]
    boxes = [(left, top, left + width, top + 16) for left, top in corners]
    inside = [
        box
        for box in boxes
        if box[0] >= frame.left + 2
        and box[2] <= frame.width - 2
        and box[1] >= 0
        and box[3] <= frame.height - frame.bottom
    ]
    free = [box for box in inside if not any(_overlap(box, other) for other in taken)]
    return (free or inside or boxes)[0]


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _describe(points: Sequence[Point]) -> str:
    told = [
        f"{point.name} {point.latency_ms:.3g} ms, "
        + ("identical" if point.quality_db is None else f"{point.quality_db:.1f} dB")
        for point in sorted(points, key=lambda point: point.latency_ms)
    ]
    return "Latency against image quality. " + "; ".join(told) + "."
