"""The picture of a sensitivity analysis: one row a layer, one mark for each part and number of bits."""

from markupsafe import Markup, escape

from gantune.records.quantization import LayerSensitivity, SensitivityTable
from gantune.reporting.axes import Frame, Scale, draw_line, draw_text, find_ticks, wrap_plot

_ROW_HEIGHT = 20
_HEADROOM = 24
CEILING_DB = 100.0


def draw_sensitivity(table: SensitivityTable, *, is_narrow: bool) -> Markup:
    """Draw the image error in dB across, layers downwards in the order in which they run."""
    layers = list(dict.fromkeys(row.layer for row in table.rows))
    width, left = (350, 120) if is_narrow else (860, 260)
    frame = Frame(width, len(layers) * _ROW_HEIGHT + _HEADROOM + 44, left=left, top=_HEADROOM)
    shown = [_shown_db(row) for row in table.rows]
    low = 10 * (min([*shown, 40.0]) // 10)
    across = Scale(low, max([*shown, low + 20]), frame.left, frame.width - frame.right)
    floor = frame.height - frame.bottom
    parts = []
    for tick in find_ticks(across.low, across.high, count=3 if is_narrow else 6):
        parts.append(draw_line(across(tick), frame.top, across(tick), floor, kind="grid"))
        parts.append(draw_text(across(tick), floor + 18, f"{tick:g}", kind="tick", anchor="middle"))
    parts.append(
        draw_text(frame.width - frame.right, frame.height - 4, "PSNR, dB →", kind="tick", anchor="end")
    )
    for index, layer in enumerate(layers):
        y = frame.top + (index + 0.5) * _ROW_HEIGHT
        name = layer if len(layer) * 6.7 < left - 12 else "…" + layer[-int((left - 20) / 6.7) :]
        parts.append(draw_text(frame.left - 8, y + 4, name, kind="tick", anchor="end"))
        parts.append(draw_line(frame.left, y, frame.width - frame.right, y, kind="grid"))
        parts += [_draw_mark(row, across(_shown_db(row)), y) for row in table.rows if row.layer == layer]
    worst = min(table.rows, key=_shown_db)
    label = (
        f"Image error of each layer's rounding. The worst: {worst.part} of {worst.layer} in {worst.bits} "
        f"bits, {_shown_db(worst):.1f} dB."
    )
    return wrap_plot(frame, parts, label=label, kind="narrow" if is_narrow else "wide")


def _draw_mark(row: LayerSensitivity, x: float, y: float) -> Markup:
    """Draw a diamond for weights and a circle for activations, filled where 8 bits or more are used."""
    kind = "baseline" if row.part == "weights" else "kept"
    title = f"<title>{escape(row.layer)}, {row.part} in {row.bits} bits: {_shown_db(row):.1f} dB</title>"
    bits = draw_text(x, y - 7, f"{row.bits}", kind="tick", anchor="middle")
    if row.part == "weights":
        shape = Markup(f'<path d="M{x:.1f} {y - 5:.1f}l5 5l-5 5l-5-5z" class="mark {kind}">{title}</path>')
    else:
        shape = Markup(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" class="mark {kind}">{title}</circle>')
    return shape + bits


def _shown_db(row: LayerSensitivity) -> float:
    return CEILING_DB if row.psnr_db is None else min(row.psnr_db, CEILING_DB)
