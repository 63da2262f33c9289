"""Ranks wait for each other."""

from gantune.profiling.findings.conclusion import MIN_SHARE, conclude, percent, say_ms, top_names
from gantune.profiling.scene import Scene
from gantune.records.profile import Evidence, Finding


def find(scene: Scene) -> Finding | None:
    """Fire where collectives run while nothing computes; a high busy share does not excuse them."""
    seen = scene.seen
    if scene.is_device_missing:
        return None
    time = (scene.device or scene.host).exposed_communication
    share = seen.share(time)
    if share < MIN_SHARE:
        return None
    mask = seen.is_collective & seen.in_window
    a_step = int(mask.sum()) / max(len(seen.steps), 1)
    total = seen.time_of(seen.is_collective)
    evidence = [
        Evidence(
            text=f"Collectives run for {say_ms(total.total)} of {say_ms(seen.window_us)}, and for "
            f"{percent(share)} of "
            "the window nothing computes beside them.",
            events=top_names(seen.trace, mask),
        )
    ]
    if seen.steps:
        evidence.append(Evidence(text=f"{a_step:,.0f} collectives a step."))
    many = (
        "Put gradients into fewer, larger buckets (bucket_cap_mb, gradient_as_bucket_view=True); "
        if a_step > 50
        else ""
    )
    return conclude(
        "communication",
        share,
        evidence=evidence,
        confidence="high",
        remedy=f"{many}accumulate gradients over several batches with no_sync(), compress them "
        "(bf16_compress_hook), give each rank a larger batch, and look whether one rank is late.",
    )
