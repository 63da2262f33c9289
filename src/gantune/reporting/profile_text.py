"""A profile as a few plain lines for a terminal."""

from gantune.records.profile import Finding, Profile
from gantune.reporting.figures import write_value

NUM_OPERATORS = 8
_NAME_WIDTH = 64


def profile_text(profile: Profile) -> str:
    """Write the verdict, every finding with evidence and remedy, and where the time goes; no color."""
    lines = [_headline(profile), *(f"warning: {warning}" for warning in profile.warnings), ""]
    for rank, finding in enumerate(profile.findings, start=1):
        lines += [*finding_lines(finding, rank), ""]
    lines += _table("wall time", [(p.name, p.time_ms, p.share) for p in profile.wall])
    lines += _table("phases", [(p.name, p.host_ms, p.share) for p in profile.phases])
    lines += _table("layers", [(f"{p.name} ({p.kind})", p.time_ms, p.share) for p in profile.layers])
    has_device = any(operator.device_ms for operator in profile.operators)
    title = "operators, by device time" if has_device else "operators, by self time"
    rows = [(p.name, p.device_ms if has_device else p.host_ms, p.share) for p in profile.operators]
    lines += _table(title, rows)
    lines += _table("kernels", [(p.name, p.time_ms, p.share) for p in profile.kernels])
    lines += _table("lines of Python", [(p.line, p.time_ms, p.share) for p in profile.lines])
    for use in profile.memory:
        lines.append(f"peak {use.place} memory: {write_value(use.peak_bytes, 'bytes')}")
    return "\n".join(lines).rstrip()


def finding_lines(finding: Finding, rank: int) -> list[str]:
    """Write one finding: kind, cost and gain on the first line, then what it rests on and what to do."""
    cost = "" if not finding.share else f", {finding.share:.0%} of the time"
    if finding.measured_gain is not None:
        gain = finding.measured_gain
        bound = f", {gain.median:.2f}× ({gain.low:.2f}–{gain.high:.2f}) measured"
    elif finding.expected_gain is not None and finding.share:
        bound = f", up to {finding.expected_gain.high:.2f}×"
    else:
        bound = ""
    lines = [f"{rank}. {finding.kind.replace('_', ' ')}{cost}{bound} (confidence {finding.confidence})"]
    for evidence in finding.evidence:
        where = f" [{evidence.source_line}]" if evidence.source_line else ""
        lines.append(f"   {evidence.text}{where}")
    return [*lines, f"   → {finding.remedy}"]


def _headline(profile: Profile) -> str:
    parts = [profile.source, profile.framework, *profile.devices]
    if profile.world_size is not None and profile.world_size > 1:
        parts.append(f"rank {profile.rank} of {profile.world_size}")
    window = write_value(profile.window_ms, "duration")
    if profile.num_steps:
        window = (
            f"{profile.num_steps} steps of {write_value(profile.window_ms / profile.num_steps, 'duration')}"
        )
    if profile.calls is not None:
        window = (
            f"{write_value(profile.calls.steady_ms, 'duration')} a call, the first "
            f"{write_value(profile.calls.first_ms, 'duration')}, "
            f"{profile.calls.minor_faults:,.0f} page faults"
        )
    if profile.script is not None and profile.script.as_is_ms is not None:
        step = write_value(profile.script.as_is_ms, "duration")
        window = f"{step} a step ({profile.script.steps_s:.2f} steps/s)"
        if profile.script.overhead is not None:
            window += f", {profile.script.overhead:+.0%} with the profiler"
    busy = "" if profile.busy_share is None else f", device busy {profile.busy_share:.0%}"
    return f"{', '.join(parts)}: {window}{busy}"


def _table(title: str, rows: list[tuple[str, float, float]]) -> list[str]:
    if not rows:
        return []
    shown = rows[:NUM_OPERATORS]
    names = [name if len(name) <= _NAME_WIDTH else name[: _NAME_WIDTH - 1] + "…" for name, _, _ in shown]
    width = max(map(len, names))
    lines = [
        f"  {name:<{width}}  {write_value(time_ms, 'duration'):>10}  {share:>6.1%}"
        for name, (_, time_ms, share) in zip(names, shown, strict=True)
    ]
    return [title, *lines, ""]
