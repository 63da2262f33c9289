"""A tuning run as plain lines for a terminal."""

from gantune.records.tuning import Attempt, Tuning


def tuning_text(tuning: Tuning) -> str:
    """Write what was tried, kept and why not, the bottlenecks, and how to make it permanent."""
    lines = [
        f"{tuning.before_steps_s:.2f} → {tuning.after_steps_s:.2f} steps/s, "
        f"{tuning.gain.median:.2f}× ({tuning.gain.low:.2f}–{tuning.gain.high:.2f}) in pairs; "
        f"stopped because {tuning.stopped_because}",
        "",
        "bottleneck",
    ]
    for one in tuning.bottlenecks:
        share = "" if not one.share else f" {one.share:.0%}"
        lines.append(f"  with {one.after}: {one.kind.replace('_', ' ')}{share}. {one.text}")
    lines += ["", "tried"]
    lines += [_attempt_line(attempt) for attempt in tuning.attempts]
    if tuning.kept:
        lines += ["", "to make it permanent", f"  {tuning.permanent_command}"]
        lines += [f"  {line}" for line in tuning.lines]
    else:
        lines += ["", "Nothing was kept: the script is as fast as these remedies can make it here."]
    return "\n".join(lines)


def _attempt_line(attempt: Attempt) -> str:
    gain = ""
    if attempt.gain is not None:
        gain = f" {attempt.gain.median:.2f}× ({attempt.gain.low:.2f}–{attempt.gain.high:.2f})"
    status = attempt.status.replace("_", " ")
    place = f" in round {attempt.round}" if attempt.round else ""
    return f"  {attempt.name}: {status}{place}{gain}; {attempt.reason}"
