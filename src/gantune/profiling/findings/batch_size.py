"""A batch so small that what a step costs whatever its batch dominates."""

from gantune.profiling.findings.conclusion import conclude, percent
from gantune.profiling.phases import EMA, OPTIMIZER, name_phase
from gantune.profiling.scene import Scene
from gantune.profiling.small_work import LOOP_REPEATS, weigh_small_work
from gantune.profiling.trace.events import Kind
from gantune.records.profile import Evidence, Finding

# Below this an operator's own work is shorter than its dispatch and its threads' start.
_SMALL_US = 30.0
# Healthy steps spend this much on optimizers, averages and small operators.
MIN_SHARE = 0.25
_MAX_BATCH = 8
# The gain is in samples a second, at so many times the batch.
GROWTH = 8
# A loop repeats one operator; a network's small operators are of many kinds.
_LOOP_PART = 0.1


def find(scene: Scene) -> Finding | None:
    """Fire where a known small batch leaves a CPU with mostly work that a larger batch would not add to.

    That is: optimizers and averages of weights, and operators so short that their cost is their dispatch.
    """
    seen, batch = scene.seen, scene.seen.counters.batch_size
    if batch is None or batch > _MAX_BATCH or scene.device is not None or not seen.steps:
        return None
    updates = seen.named(lambda name: name_phase(name) in (OPTIMIZER, EMA)) & seen.trace.of_kind(Kind.RANGE)
    updating = seen.time_of(updates)
    rows, own = scene.host.operator_rows, scene.host.operator_self_us
    is_outside = ~updating.covers(seen.trace.start_us[rows])
    work = weigh_small_work(seen, rows[is_outside], own[is_outside], limit_us=_SMALL_US)
    small_share, updating_share = work.cost_us / seen.window_us, seen.share(updating)
    share = min(1.0, small_share + updating_share)
    is_loop = work.most_repeats >= max(LOOP_REPEATS, _LOOP_PART * work.num_a_step)
    if share < MIN_SHARE or is_loop:
        return None
    fixed = min(1.0, work.fixed_us / seen.window_us + updating_share) / share
    return conclude(
        "batch_size",
        share,
        evidence=(
            Evidence(
                text=f"At batch {batch}, {percent(share)} of the window would be the same with more samples: "
                f"optimizers and averages take {percent(updating_share)}, operators with less than "
                f"{_SMALL_US:.0f} µs of own work and their dispatch {percent(min(1.0, small_share))}. "
                f"The gain is in samples a second at {GROWTH} times the batch."
            ),
        ),
        confidence="medium",
        remedy="Take more samples a step, and scale the learning rate with them; accumulate nothing that "
        "fits at once.",
        removable=(1 - 1 / GROWTH) * min(1.0, fixed),
    )
