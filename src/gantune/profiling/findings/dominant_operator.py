"""One operator, or one layer's shapes, takes most of the time."""

import re

import numpy as np

from gantune.profiling.findings import launch_geometry
from gantune.profiling.findings.conclusion import conclude, percent, say_ms, shorten, top_names
from gantune.profiling.findings.library_kernels import is_library_kernel
from gantune.profiling.nesting import sum_by
from gantune.profiling.scene import Scene
from gantune.profiling.trace.events import Kind
from gantune.records.profile import Evidence, Finding

# Mending anything else than an operator with this share gains less than a factor of 1.7.
MIN_SHARE = 0.4
_DENSE = re.compile(r"conv|addmm|\bmm\b|::bmm|matmul|linear|gemm", re.IGNORECASE)
_TRAINING = re.compile(r"Backward|Optimizer\.|autograd::")


def find(scene: Scene) -> Finding | None:
    """Fire on one operator that dominates the host, or one kernel of the user's that dominates the device.

    Convolutions and matrix products are what training is for: there they count only where one set of input
    shapes, so one layer, dominates. In inference they are what quantization and engines speed up.
    """
    return _on_host(scene) if scene.device is None else _on_device(scene)


def _on_device(scene: Scene) -> Finding | None:
    seen = scene.seen
    kernels = np.flatnonzero(seen.trace.of_kind(Kind.KERNEL) & seen.in_window & ~seen.is_collective)
    if not len(kernels):
        return None
    totals = sum_by(seen.trace.name[kernels], seen.trace.duration_us[kernels], len(seen.trace.names))
    number = int(np.argmax(totals))
    share = min(1.0, float(totals[number]) / seen.window_us)
    name = seen.trace.names[number]
    if share < MIN_SHARE or is_library_kernel(name) or _is_explained(scene, name):
        return None
    text = f"{shorten(name)} takes {say_ms(float(totals[number]))}, {percent(share)} of the window."
    return conclude(
        "dominant_operator",
        share,
        evidence=(Evidence(text=text, events=(shorten(name),)),),
        confidence="medium",
        remedy="Everything else is small beside this kernel: replace it, fuse it with its neighbors, or "
        "use it less.",
    )


def _is_explained(scene: Scene, name: str) -> bool:
    """Say whether another rule knows why this kernel is slow."""
    geometry = launch_geometry.find(scene)
    return geometry is not None and any(shorten(name) in evidence.events for evidence in geometry.evidence)


def _on_host(scene: Scene) -> Finding | None:
    rows = scene.host.operator_rows
    if scene.is_device_missing or not len(rows):
        return None
    if scene.seen.counters.modules:
        return _one_module(scene)
    seen, own = scene.seen, scene.host.operator_self_us
    number = int(np.argmax(scene.host.self_us_by_name))
    name, total = seen.trace.names[number], float(scene.host.self_us_by_name[number])
    share = min(1.0, total / seen.window_us)
    chosen = rows[seen.trace.name[rows] == number]
    shape_share, shape = _largest_shape(scene, number)
    is_training = any(_TRAINING.search(other) for other in seen.trace.names)
    if is_training and _DENSE.search(name):
        share = shape_share
    if share < MIN_SHARE:
        return None
    mask = np.zeros(seen.trace.num_events, dtype=bool)
    mask[chosen] = True
    of_self = total / max(float(own.sum()), 1e-9)
    evidence = [
        Evidence(
            text=f"{name} takes {percent(of_self)} of all operators' self time on the CPU "
            f"({len(chosen):,} calls, {say_ms(total)}).",
            events=top_names(seen.trace, mask),
            source_line=scene.host.line_of(mask),
        )
    ]
    if shape:
        evidence.append(
            Evidence(text=f"With inputs {shorten(shape)} it takes {percent(shape_share)} of the window.")
        )
    return conclude("dominant_operator", share, evidence=evidence, confidence="high", remedy=_remedy(name))


def _one_module(scene: Scene) -> Finding | None:
    """Find a module that takes most of a step, in large operators: others know why small ones are slow."""
    modules = scene.seen.counters.modules
    first = modules[0]
    second = modules[1].share if len(modules) > 1 else 0.0
    if first.share < MIN_SHARE or first.share < 2 * second or first.heavy_share < 0.5 * first.share:
        return None
    return conclude(
        "dominant_operator",
        min(1.0, first.heavy_share),
        evidence=(
            Evidence(
                text=f"{first.name} takes {percent(first.share)} of the window, its backward pass included; "
                f"the next layer, {modules[1].name if len(modules) > 1 else 'none'}, {percent(second)}.",
                events=first.operators,
            ),
        ),
        confidence="high",
        remedy=_remedy(" ".join(first.operators)),
    )


def _largest_shape(scene: Scene, number: int) -> tuple[float, str]:
    """Give the share of the window and the shapes of the inputs on which the operator takes longest."""
    trace, rows = scene.seen.trace, scene.host.operator_rows
    chosen = (trace.name[rows] == number) & (trace.shape[rows] >= 0)
    if not chosen.any():
        return 0.0, ""
    totals = np.bincount(trace.shape[rows[chosen]], weights=scene.host.operator_self_us[chosen])
    best = int(np.argmax(totals))
    return min(1.0, float(totals[best]) / scene.seen.window_us), trace.shapes[best]


def _remedy(name: str) -> str:
    if "conv" in name:
        return (
            "Make the convolutions cheaper: channels-last, bfloat16 where the processor has it, an engine "
            "with fused "
            "and quantized convolutions (gantune optimize), or fewer channels."
        )
    if re.search(r"attention|softmax|bmm", name):
        return "Use scaled_dot_product_attention, attend at a lower resolution, or drop the layer."
    return "Everything else is small beside this operator: replace it, fuse it, or use it less."
