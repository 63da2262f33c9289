"""The device waits, and no single cause explains it."""

import numpy as np

from gantune.profiling.findings import python_overhead
from gantune.profiling.findings.conclusion import MIN_SHARE, conclude, percent, say_ms, shorten
from gantune.profiling.findings.launch_bound import is_launch_bound
from gantune.profiling.intervals import union_all
from gantune.profiling.scene import Scene
from gantune.profiling.trace.events import Kind
from gantune.records.profile import Evidence, Finding


def find(scene: Scene) -> Finding | None:
    """Fire on idle time that the host causes without being launch bound, or that cannot be explained."""
    if scene.device is None or is_launch_bound(scene) or python_overhead.find(scene) is not None:
        return None
    seen, parts = scene.seen, scene.device.idle_by_cause
    time = union_all([parts["host"], parts["unknown"]])
    share = seen.share(time)
    if share < MIN_SHARE:
        return None
    evidence = [
        Evidence(
            text=f"The device is idle for {percent(share)} of the window without waiting for data, copies "
            f"or other ranks."
        )
    ]
    if len(time.start):
        longest = int(np.argmax(time.end - time.start))
        text = f"The longest such gap takes {say_ms(float(time.end[longest] - time.start[longest]))}"
        name = _running_at(scene, float(time.start[longest] + time.end[longest]) / 2)
        evidence.append(Evidence(text=f"{text}; the host is in {shorten(name)}." if name else f"{text}."))
    if not seen.has_operators:
        evidence.append(Evidence(text="The file has no host operators, so the host cannot be judged."))
    return conclude(
        "idle_gpu",
        share,
        evidence=evidence,
        confidence="medium" if seen.has_operators else "low",
        remedy="Let the host run ahead: less host work a step (fused optimizer, fewer small operators, no "
        "garbage "
        "collection or logging inside the step), or give the device more work a step with a larger batch.",
    )


def _running_at(scene: Scene, time_us: float) -> str | None:
    """Name the innermost operator or call of a driving thread at a moment."""
    trace = scene.seen.trace
    mask = (
        trace.of_kind(Kind.OPERATOR, Kind.RUNTIME) & (trace.start_us <= time_us) & (trace.end_us >= time_us)
    )
    rows = np.flatnonzero(mask)
    return trace.names[trace.name[rows[np.argmin(trace.duration_us[rows])]]] if len(rows) else None
