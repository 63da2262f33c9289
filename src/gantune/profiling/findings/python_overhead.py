"""Python itself takes the time between operators."""

from gantune.profiling.findings.conclusion import conclude, percent, say_ms
from gantune.profiling.findings.launch_bound import is_launch_bound
from gantune.profiling.intervals import Intervals
from gantune.profiling.scene import Scene
from gantune.profiling.trace.events import Kind
from gantune.records.profile import Evidence, Finding

# Every step has some Python between its operators, and a profiler makes it look longer.
MIN_SHARE = 0.10


def find(scene: Scene) -> Finding | None:
    """Fire where the step's time passes outside of operators, with the device idle where there is one."""
    seen = scene.seen
    if scene.is_device_missing or not seen.has_operators or is_launch_bound(scene):
        return None
    if scene.device is None:
        time = scene.host.outside
    else:
        operating = seen.time_of(seen.trace.of_kind(Kind.OPERATOR, Kind.RUNTIME))
        time = _where_python_is_seen(scene, scene.device.idle_by_cause["host"].subtract(operating))
    share = seen.share(time)
    if share < MIN_SHARE:
        return None
    lines = scene.host.lines[:3]
    evidence = [
        Evidence(
            text=f"{say_ms(time.total)}, {percent(share)} of the window, pass outside of any operator"
            + (" while the device is idle." if scene.device else "."),
            source_line=lines[0][0] if lines else None,
        )
    ]
    evidence += [
        Evidence(text=f"{line}: {say_ms(us)} in {calls:,} calls.", source_line=line)
        for line, calls, us in lines
    ]
    return conclude(
        "python_overhead",
        share,
        evidence=evidence,
        confidence="high" if lines else "medium",
        remedy="Take the named lines out of the step, or do their work with whole tensors; torch.compile "
        "removes "
        "what only prepares operators.",
    )


def _where_python_is_seen(scene: Scene, time: Intervals) -> Intervals:
    """Keep the time in which Python functions were recorded, or all of it where none were."""
    python = scene.seen.trace.of_kind(Kind.PYTHON)
    return time.intersect(scene.seen.time_of(python)) if python.any() else time
