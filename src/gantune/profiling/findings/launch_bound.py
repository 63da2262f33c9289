"""So many small pieces of work that starting them takes longer than doing them."""

import numpy as np

from gantune.profiling.findings.conclusion import MIN_SHARE, conclude, percent, top_names
from gantune.profiling.scene import Scene
from gantune.profiling.small_work import is_taken_apart, weigh_small_work
from gantune.profiling.trace.events import Kind
from gantune.records.profile import Evidence, Finding

# Starting a kernel takes the host some ten microseconds with its operator; a shorter one cannot hide that.
SMALL_KERNEL_US = 10.0
# On a CPU, dispatching an operator takes a few microseconds whatever it does.
SMALL_OPERATOR_US = 10.0
# "Most": more than half of the kernels find that the device has run dry before they were launched.
MOST = 0.5
MIN_OPERATORS_A_STEP = 500
# Small operators take some time beside large ones in every network.
MIN_HOST_SHARE = 0.15
_REMEDY = (
    "Launch less: torch.compile or CUDA graphs for the step, foreach or fused optimizers, operations on "
    "whole "
    "batches instead of loops, larger batches."
)


def find(scene: Scene) -> Finding | None:
    """Fire where the queue of the device runs dry between small kernels, or a CPU runs tiny operators."""
    return _on_host(scene) if scene.device is None else _on_device(scene)


def is_launch_bound(scene: Scene) -> bool:
    """Say whether most kernels are launched too late, and are small."""
    if scene.device is None or scene.device.late_share is None:
        return False
    durations = scene.seen.trace.duration_us[scene.device.kernel_rows]
    return scene.device.late_share >= MOST and float(np.median(durations)) < SMALL_KERNEL_US


def _on_device(scene: Scene) -> Finding | None:
    assert scene.device is not None
    share = scene.seen.share(scene.device.idle_by_cause["host"])
    if share < MIN_SHARE or not is_launch_bound(scene):
        return None
    assert scene.device.late_share is not None
    rows = scene.device.kernel_rows
    durations = scene.seen.trace.duration_us[rows]
    kernels = scene.seen.trace.of_kind(Kind.KERNEL) & scene.seen.in_window
    return conclude(
        "launch_bound",
        share,
        evidence=(
            Evidence(
                text=f"{percent(float((durations < SMALL_KERNEL_US).mean()))} of {len(rows):,} kernels "
                f"take less than "
                f"{SMALL_KERNEL_US:.0f} µs (median {np.median(durations):.1f} µs).",
                events=top_names(scene.seen.trace, kernels),
            ),
            Evidence(
                text=f"{percent(scene.device.late_share)} of the kernels were launched after the device "
                f"had run dry; "
                f"it is idle for {percent(share)} of the window while the host prepares the next launch.",
                source_line=scene.host.line_of(
                    scene.seen.trace.of_kind(Kind.OPERATOR) & scene.seen.in_window
                ),
            ),
        ),
        confidence="high",
        remedy=_REMEDY,
    )


def _on_host(scene: Scene) -> Finding | None:
    """Count operators whose own work is as short as their dispatch."""
    if scene.is_device_missing:
        return None
    own = scene.host.operator_self_us
    work = weigh_small_work(scene.seen, scene.host.operator_rows, own, limit_us=SMALL_OPERATOR_US)
    small = own < SMALL_OPERATOR_US
    if is_taken_apart(scene.seen, scene.host.operator_rows):
        # `python_overhead` names the loop.
        return None
    share = min(1.0, work.cost_us / scene.seen.window_us)
    if share < MIN_HOST_SHARE or work.num_a_step < MIN_OPERATORS_A_STEP or small.mean() < MOST:
        return None
    mask = np.zeros(scene.seen.trace.num_events, dtype=bool)
    mask[work.rows] = True
    return conclude(
        "launch_bound",
        share,
        evidence=(
            Evidence(
                text=f"{work.num_a_step:,.0f} operators a step, {percent(float(small.mean()))} of "
                f"them with less than "
                f"{SMALL_OPERATOR_US:.0f} µs of own work; with their dispatch these "
                f"take {percent(share)} of the window.",
                events=top_names(scene.seen.trace, mask),
                source_line=scene.host.line_of(mask),
            ),
        ),
        confidence="medium",
        remedy="Do the same work in fewer calls: whole tensors instead of loops over channels or samples, "
        "foreach or fused optimizers, torch.compile.",
    )
