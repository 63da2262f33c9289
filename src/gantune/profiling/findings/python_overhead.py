"""Python itself takes the time between operators."""

import numpy as np

from gantune.profiling.findings.conclusion import conclude, percent, say_ms, top_names
from gantune.profiling.findings.launch_bound import is_launch_bound
from gantune.profiling.intervals import Intervals
from gantune.profiling.scene import Scene
from gantune.profiling.small_work import DISPATCH_US, LOOP_REPEATS, find_taking_apart
from gantune.profiling.trace.events import Integers, Kind
from gantune.records.profile import Evidence, Finding

# Every step has some Python between its operators, and a profiler makes it look longer.
MIN_SHARE = 0.10
_LOOP_PAUSE_US = 2000.0


def find(scene: Scene) -> Finding | None:
    """Fire where the step's time passes outside of operators, or in a loop over the parts of a tensor.

    Outside means: with the device idle where there is one, and in pauses longer than a dispatch.
    """
    seen = scene.seen
    if scene.is_device_missing or not seen.has_operators or is_launch_bound(scene):
        return None
    if scene.device is None:
        loop = _unvectorized_loop(scene)
        if loop is not None:
            return loop
        return _outside_of_operators(
            scene, *_without_profiler(scene, scene.host.outside.longer_than(DISPATCH_US))
        )
    operating = seen.time_of(seen.trace.of_kind(Kind.OPERATOR, Kind.RUNTIME))
    time = _where_python_is_seen(scene, scene.device.idle_by_cause["host"].subtract(operating))
    return _outside_of_operators(scene, time.total, seen.share(time))


def _without_profiler(scene: Scene, time: Intervals) -> tuple[float, float]:
    """Take off what the profiler itself may have added, and what the kernel took to map memory."""
    seen, as_is_ms = scene.seen, scene.seen.counters.least_ms
    if as_is_ms is None or not seen.steps:
        return time.total, seen.share(time)
    as_is_us = as_is_ms * 1e3 * len(seen.steps)
    kernel_us = (seen.counters.system_ms or 0.0) * 1e3 * len(seen.steps)
    left = max(0.0, time.total - max(0.0, seen.window_us - as_is_us) - kernel_us)
    return left, min(1.0, left / min(as_is_us, seen.window_us))


def _unvectorized_loop(scene: Scene) -> Finding | None:
    """Find a line that takes a tensor apart and works on its parts one after the other."""
    seen, rows = scene.seen, scene.host.operator_rows
    taking = find_taking_apart(seen, rows)
    num_a_step = len(taking) / max(len(seen.steps), 1)
    if num_a_step < LOOP_REPEATS:
        return None
    mask = np.zeros(seen.trace.num_events, dtype=bool)
    mask[taking] = True
    line, share = scene.host.line_of(mask), _loop_share(scene, taking)
    if share < MIN_SHARE:
        return None
    where = f"{line} takes" if line else "A loop takes"
    text = f"{where} a tensor apart {num_a_step:,.0f} times a step and works on each part by itself"
    text += f"; with what it does to them that is {percent(share)} of the window."
    return conclude(
        "python_overhead",
        share,
        evidence=(Evidence(text=text, events=top_names(seen.trace, mask), source_line=line),),
        confidence="high" if line else "medium",
        remedy="Do it in one call on the whole tensor (groups, batched products, einsum, vmap) instead of a "
        "Python loop over channels, samples or pixels.",
    )


def _loop_share(scene: Scene, taking: Integers) -> float:
    """Give the share of the window in stretches where a part is taken at least every `_LOOP_PAUSE_US`."""
    trace = scene.seen.trace
    start = trace.start_us[taking]
    near = np.diff(start) < _LOOP_PAUSE_US
    return min(1.0, float(np.diff(start)[near].sum()) / scene.seen.window_us)


def _outside_of_operators(scene: Scene, time_us: float, share: float) -> Finding | None:
    seen = scene.seen
    if share < MIN_SHARE:
        return None
    lines = scene.host.lines[:3]
    evidence = [
        Evidence(
            text=f"{say_ms(time_us)}, {percent(share)} of the window, pass outside of any operator"
            + (" while the device is idle." if scene.device else "."),
            source_line=lines[0][0] if lines else None,
        )
    ]
    what = "looks" if seen.counters.lines else "calls"
    evidence += [
        Evidence(text=f"{line}: {say_ms(us)} in {calls:,} {what}.", source_line=line)
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
