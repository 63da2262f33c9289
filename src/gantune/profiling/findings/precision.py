"""Numbers wider than the result needs."""

import re

import numpy as np

from gantune.profiling.findings.conclusion import MIN_SHARE, conclude, percent, top_names
from gantune.profiling.scene import Scene
from gantune.profiling.trace.events import DOUBLE, LONG, Mask
from gantune.records.profile import Evidence, Finding

# Twice the bytes and half the lanes: float64 and int64 take about twice the time of 32 bits.
REMOVABLE = 0.5
# Integer tensors are right where they index; arithmetic on them is what a smaller type would speed up.
_ARITHMETIC = re.compile(
    r"^aten::(add|sub|mul|div|pow|sum|mean|clamp|where|abs|neg|bitwise\w*|remainder|floor_divide|cumsum|matmul|mm|bmm)_?$"
)


def find(scene: Scene) -> Finding | None:
    """Fire where operators on float64, or arithmetic on int64, take the step's time."""
    if scene.is_device_missing or not scene.seen.has_operators:
        return None
    seen = scene.seen
    doubles = (seen.trace.types & DOUBLE) > 0
    longs = (
        ((seen.trace.types & LONG) > 0) & seen.named(lambda name: bool(_ARITHMETIC.match(name))) & ~doubles
    )
    double_share, long_share = _time_share(scene, doubles), _time_share(scene, longs)
    share = double_share + long_share
    if share < MIN_SHARE:
        return None
    evidence = [
        Evidence(
            text=f"Operators on {name} tensors take {percent(part)} of the window.",
            events=top_names(seen.trace, mask & seen.in_window),
            source_line=scene.host.line_of(mask & seen.in_window),
        )
        for name, part, mask in (("float64", double_share, doubles), ("int64", long_share, longs))
        if part >= MIN_SHARE / 2
    ]
    return conclude(
        "precision",
        share,
        evidence=evidence,
        confidence="high",
        remedy="Make them float32 where they enter (numpy arrays and Python floats become float64: "
        "torch.as_tensor(x, dtype=torch.float32)), and int32 or uint8 for integers that do not index.",
        removable=REMOVABLE,
    )


def _time_share(scene: Scene, mask: Mask) -> float:
    """Give the share of the window of the marked operators: their device time, else their self time."""
    seen = scene.seen
    if scene.device is not None:
        launched = np.flatnonzero(seen.is_device & (seen.launch_of >= 0) & seen.in_window)
        operator = dict(zip(seen.host_rows.tolist(), seen.operator_of.tolist(), strict=True))
        owner = np.array([operator.get(int(row), -1) for row in seen.launch_of[launched]], dtype=np.int64)
        chosen = launched[(owner >= 0) & mask[np.maximum(owner, 0)]]
        is_chosen = np.zeros(seen.trace.num_events, dtype=bool)
        is_chosen[chosen] = True
        return seen.share(seen.time_of(is_chosen))
    rows = scene.host.operator_rows
    return min(1.0, float(scene.host.operator_self_us[mask[rows]].sum()) / seen.window_us)
