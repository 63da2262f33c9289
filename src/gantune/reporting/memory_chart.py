"""Memory over time as one SVG."""

from collections.abc import Sequence

from markupsafe import Markup

from gantune.records.profile import MemoryUse
from gantune.reporting.axes import Frame, Scale, find_ticks
from gantune.reporting.figures import write_significant

_FRAMES = {False: Frame(860, 240, left=64), True: Frame(350, 240, left=56)}
_MIB = 2.0**20


def draw_memory(uses: Sequence[MemoryUse], *, is_narrow: bool) -> Markup:
    """Draw one curve a place: host and device."""
    frame = _FRAMES[is_narrow]
    end_ms = max((point.time_ms for use in uses for point in use.points), default=1.0) or 1.0
    start_ms = min(point.time_ms for use in uses for point in use.points)
    top = max(max(use.peak_bytes for use in uses) / _MIB, 1e-3)
    across = Scale(start_ms, max(end_ms, start_ms + 1e-6), frame.left, frame.width - frame.right)
    up = Scale(0, top * 1.05, frame.height - frame.bottom, frame.top)
    parts = [
        f'<svg class="plot {"narrow" if is_narrow else "wide"}" viewBox="0 0 {frame.width} {frame.height}" '
        'role="img" aria-label="Memory over time">'
    ]
    for value in find_ticks(0, top, count=4):
        y = up(value)
        parts.append(
            f'<line class="grid" x1="{frame.left}" x2="{frame.width - frame.right}" '
            f'y1="{y:.1f}" y2="{y:.1f}"/>'
        )
        parts.append(
            f'<text x="{frame.left - 8}" y="{y + 4:.1f}" text-anchor="end">{write_significant(value)}</text>'
        )
    for value in find_ticks(start_ms, end_ms, count=3 if is_narrow else 6):
        parts.append(
            f'<text x="{across(value):.1f}" y="{frame.height - frame.bottom + 18}" text-anchor="middle">'
            f"{write_significant(value)}</text>"
        )
    for number, use in enumerate(uses):
        line = " ".join(f"{across(p.time_ms):.1f},{up(max(0, p.bytes) / _MIB):.1f}" for p in use.points)
        parts.append(f'<polyline class="curve curve-{number + 1}" points="{line}"/>')
    parts.append(
        f'<text x="{frame.width - frame.right}" y="{frame.height - 8}" text-anchor="end">time, ms</text>'
    )
    parts.append(f'<text x="8" y="{frame.top - 2}">MiB</text></svg>')
    return Markup("".join(parts))
