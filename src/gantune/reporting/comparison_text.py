"""Two profiles side by side as a few plain lines."""

from gantune.records.profile_comparison import ProfileComparison, TimeChange
from gantune.reporting.figures import write_value

NUM_ROWS = 12


def comparison_text(found: ProfileComparison) -> str:
    """Write the total, and what changed by phase, wall part, layer and operator; noise is marked as such."""
    lines = [
        f"{found.before} → {found.after}, a step (differences below {found.noise:.0%} are noise)",
        *_rows((found.total,)),
    ]
    groups = {
        "phases": found.phases,
        "wall time": found.wall,
        "layers": found.layers,
        "operators": found.operators,
    }
    for title, changes in groups.items():
        if changes:
            lines += ["", title, *_rows(changes[:NUM_ROWS])]
    for title, kinds in (("no longer found", found.findings_gone), ("newly found", found.findings_new)):
        if kinds:
            lines += ["", f"{title}: {', '.join(kind.replace('_', ' ') for kind in kinds)}"]
    return "\n".join(lines)


def _rows(changes: tuple[TimeChange, ...]) -> list[str]:
    width = max(len(change.name) for change in changes)
    return [
        f"  {change.name:<{width}}  {write_value(change.before_ms, 'duration'):>10} → "
        f"{write_value(change.after_ms, 'duration'):>10}  {_say(change)}"
        for change in changes
    ]


def _say(change: TimeChange) -> str:
    if not change.is_significant:
        return "noise"
    if not change.before_ms or not change.after_ms:
        return "new" if not change.before_ms else "gone"
    ratio = change.before_ms / change.after_ms
    return f"{ratio:.2f}× faster" if ratio > 1 else f"{1 / ratio:.2f}× slower"
