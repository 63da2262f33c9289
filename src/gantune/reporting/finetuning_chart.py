"""The curves of a fine-tuning: image error above, adversarial losses below, over the images seen."""

from collections.abc import Sequence

from markupsafe import Markup

from gantune.records.quantization import FinetunePoint, FinetuneRecord
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


def draw_image_error(record: FinetuneRecord, *, is_narrow: bool) -> Markup:
    """Draw the averaged network's image error; its first point is that of rounding alone."""
    values = [(point.num_images, point.error_db) for point in record.points if point.error_db is not None]
    label = (
        f"Image error on held-out latents over {record.num_images:,} images, from "
        f"{_say(record.before_db)} to {_say(record.after_db)}."
    )
    return _draw(record, {"": values}, unit="dB", label=label, is_narrow=is_narrow)


def draw_losses(record: FinetuneRecord, *, is_narrow: bool) -> Markup:
    """Draw the adversarial losses; nothing where no discriminator took part."""
    lines = {
        "generator": _pick(record.points, "generator_loss"),
        "discriminator": _pick(record.points, "discriminator_loss"),
    }
    shown = {name: values for name, values in lines.items() if values}
    if not shown:
        return Markup("")
    label = f"Adversarial losses over {record.num_images:,} images: {' and '.join(shown)}."
    return _draw(record, shown, unit="loss", label=label, is_narrow=is_narrow)


def _pick(points: Sequence[FinetunePoint], name: str) -> list[tuple[int, float]]:
    found = ((point.num_images, getattr(point, name)) for point in points)
    return [(images, value) for images, value in found if value is not None]


def _draw(
    record: FinetuneRecord,
    lines: dict[str, list[tuple[int, float]]],
    *,
    unit: str,
    label: str,
    is_narrow: bool,
) -> Markup:
    frame = Frame(350, 220, top=32) if is_narrow else Frame(760, 240, top=32)
    floor = frame.height - frame.bottom
    shown = [value for values in lines.values() for _, value in values] or [0.0]
    margin = max(0.05 * (max(shown) - min(shown)), 0.1)
    across = Scale(0, max(1, record.num_images), frame.left, frame.width - frame.right)
    up = Scale(min(shown) - margin, max(shown) + margin, floor, frame.top)
    ticks = find_ticks(up.low, up.high, count=4)
    digits = 0 if all(tick == round(tick) for tick in ticks) else 1
    parts = [
        draw_vertical_axis(up, frame, ticks, digits=digits),
        draw_horizontal_axis(across, floor, find_ticks(0, across.high, count=3 if is_narrow else 6)),
        draw_line(frame.left, floor, frame.width - frame.right, floor, kind="axis"),
        draw_text(frame.left - 8, frame.top - 14, unit, kind="tick", anchor="end"),
        draw_text(frame.width - frame.right, frame.height - 4, "images →", kind="tick", anchor="end"),
    ]
    for index, (name, values) in enumerate(lines.items(), start=1):
        points = [(across(images), up(value)) for images, value in values]
        if not points:
            continue
        parts.append(draw_path(points, kind=f"curve curve-{index}"))
        parts.append(draw_text(points[-1][0], points[-1][1] - 8, name, kind="tick", anchor="end"))
    return wrap_plot(frame, parts, label=label, kind="narrow" if is_narrow else "wide")


def _say(error_db: float | None) -> str:
    return "nothing" if error_db is None else f"{error_db:.1f} dB"
