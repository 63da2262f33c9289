"""A batch so small that the fixed cost of each operator dominates."""

import numpy as np

from gantune.profiling.findings.conclusion import conclude, percent
from gantune.profiling.scene import Scene
from gantune.profiling.small_work import LOOP_REPEATS, weigh_small_work
from gantune.records.profile import Evidence, Finding

# Below this an operator's own work is shorter than its dispatch and its threads' start.
_SMALL_US = 30.0
MIN_SHARE = 0.15
_MAX_BATCH = 8


def find(scene: Scene) -> Finding | None:
    """Fire where a known small batch leaves a CPU with mostly short operators."""
    batch = scene.seen.counters.batch_size
    if batch is None or batch > _MAX_BATCH or scene.device is not None or not scene.seen.steps:
        return None
    own = scene.host.operator_self_us
    work = weigh_small_work(scene.seen, scene.host.operator_rows, own, limit_us=_SMALL_US)
    share = min(1.0, work.cost_us / scene.seen.window_us)
    is_loop = work.most_repeats >= LOOP_REPEATS
    if share < MIN_SHARE or float(np.median(own)) >= _SMALL_US or is_loop:
        return None
    return conclude(
        "batch_size",
        share,
        evidence=(
            Evidence(
                text=f"At batch {batch}, operators with less than {_SMALL_US:.0f} µs of own work, "
                f"and their dispatch, take {percent(share)} of the window."
            ),
        ),
        confidence="medium",
        remedy="Take more samples a step, and scale the learning rate with them; accumulate nothing that "
        "fits at once.",
        removable=0.5,
    )
