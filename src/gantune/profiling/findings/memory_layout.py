"""Tensors are rearranged in memory again and again."""

import numpy as np

from gantune.profiling.findings.conclusion import MIN_SHARE, conclude, percent, top_names
from gantune.profiling.nesting import nearest_ancestor
from gantune.profiling.scene import Scene
from gantune.profiling.trace.events import Kind, Mask
from gantune.profiling.vocabulary import is_host_layout_change, is_layout_change, is_passing_on
from gantune.records.profile import Evidence, Finding

# Copies of inputs, gradients and averages are part of every training step.
MIN_HOST_SHARE = 0.10
_REMEDY = (
    "Keep one layout through the network: model and inputs to(memory_format=torch.channels_last), no "
    "permute() and "
    "contiguous() between layers; time both layouts, since some layers lose by it."
)


def find(scene: Scene) -> Finding | None:
    """Fire on transposing kernels, or on a CPU on copies that only change the layout."""
    return _on_host(scene) if scene.device is None else _on_device(scene)


def _on_device(scene: Scene) -> Finding | None:
    seen = scene.seen
    kernels = seen.trace.of_kind(Kind.KERNEL) & seen.in_window
    changes = kernels & seen.named(is_layout_change)
    share = seen.share(seen.time_of(changes))
    if share < MIN_SHARE:
        return None
    of_kernels = float(seen.trace.duration_us[changes].sum() / seen.trace.duration_us[kernels].sum())
    evidence = [
        Evidence(
            text=f"{int(changes.sum()):,} transposing kernels take {percent(of_kernels)} of kernel time, "
            f"{percent(share)} of the window.",
            events=top_names(seen.trace, changes),
        )
    ]
    if not seen.has_operators:
        evidence.append(Evidence(text="The file has no host operators, so the host cannot be judged."))
    return conclude("memory_layout", share, evidence=evidence, confidence="high", remedy=_REMEDY)


def _on_host(scene: Scene) -> Finding | None:
    if scene.is_device_missing:
        return None
    seen, rows = scene.seen, scene.host.operator_rows
    changing = seen.named(is_host_layout_change)[rows] & ~_is_inside(scene)[rows]
    share = float(scene.host.operator_self_us[changing].sum()) / seen.window_us
    if share < MIN_HOST_SHARE:
        return None
    mask = np.zeros(seen.trace.num_events, dtype=bool)
    mask[rows[changing]] = True
    return conclude(
        "memory_layout",
        share,
        evidence=(
            Evidence(
                text=f"{int(changing.sum()):,} copies that change layout or type take {percent(share)} of "
                f"the window.",
                events=top_names(seen.trace, mask),
                source_line=scene.host.line_of(mask),
            ),
        ),
        confidence="medium",
        remedy=_REMEDY,
    )


def _is_inside(scene: Scene) -> Mask:
    """Mark what runs inside of an operator that computes: there the library chose to copy, not the script."""
    seen = scene.seen
    computing = seen.trace.of_kind(Kind.OPERATOR) & ~seen.named(is_passing_on)
    around = nearest_ancestor(seen.host_rows, seen.host_parents, computing)
    is_inside = np.zeros(seen.trace.num_events, dtype=bool)
    is_inside[seen.host_rows] = around >= 0
    return is_inside
