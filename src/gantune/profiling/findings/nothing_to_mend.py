"""A healthy step: what is left is the work itself, and how fast it could be."""

from gantune.profiling.findings.conclusion import conclude, percent, top_names
from gantune.profiling.findings.library_kernels import is_library_kernel
from gantune.profiling.scene import Scene
from gantune.profiling.trace.events import HALF, Kind
from gantune.profiling.vocabulary import is_reduced_precision_kernel
from gantune.records.profile import Evidence, Finding


def find(scene: Scene) -> Finding:
    """State that no rule fired, with the headroom that remains."""
    evidence = [_where_time_goes(scene)]
    is_reduced = _uses_reduced_precision(scene)
    if not is_reduced:
        where = "tensor cores" if scene.device else "the processor's bfloat16 units, where it has them,"
        evidence.append(
            Evidence(
                text=f"Headroom: everything computes in float32; mixed precision on {where} is the next step."
            )
        )
    remedy = (
        "Nothing has to be mended. To go further: "
        + (
            "larger batches, fused kernels (torch.compile)"
            if is_reduced
            else "mixed precision (autocast with a GradScaler), then torch.compile"
        )
        + (", gantune optimize for the trained generator." if not scene.device else ".")
    )
    return conclude("nothing_to_mend", 0.0, evidence=evidence, confidence="high", remedy=remedy)


def _where_time_goes(scene: Scene) -> Evidence:
    seen = scene.seen
    if scene.device is not None:
        kernels = seen.trace.of_kind(Kind.KERNEL) & seen.in_window
        libraries = kernels & seen.named(is_library_kernel)
        text = (
            f"The device is busy for {percent(seen.share(scene.device.busy))} of the window, copies alone "
            f"take "
            f"{percent(seen.share(scene.device.exposed_copies))}, and no cause costs 5 % or more."
        )
        return Evidence(text=text, events=top_names(seen.trace, libraries if libraries.any() else kernels))
    text = (
        f"Operators take {percent(seen.share(scene.host.computing))} of the window, and no other cause "
        f"costs 5 % or more."
    )
    return Evidence(
        text=text, events=top_names(seen.trace, seen.trace.of_kind(Kind.OPERATOR) & seen.in_window)
    )


def _uses_reduced_precision(scene: Scene) -> bool:
    trace = scene.seen.trace
    if scene.device is not None:
        return bool((scene.seen.named(is_reduced_precision_kernel) & trace.of_kind(Kind.KERNEL)).any())
    return bool(((trace.types & HALF) > 0).any())
