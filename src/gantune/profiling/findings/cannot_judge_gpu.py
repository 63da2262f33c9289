"""The program used a device, and the file does not show its work: never "0 % busy"."""

from gantune.profiling.findings.conclusion import conclude
from gantune.profiling.scene import Scene
from gantune.records.profile import Evidence, Finding


def find(scene: Scene) -> Finding | None:
    """Fire where host events need a device and no device event is there."""
    if not scene.is_device_missing:
        return None
    signs = scene.seen.accelerator_signs
    return conclude(
        "cannot_judge_gpu",
        None,
        evidence=(
            Evidence(
                text=f"The file has no device events, yet {len(signs)} kinds of host events need a device.",
                events=signs[:5],
            ),
        ),
        confidence="high",
        remedy="Record again with the device's activity: activities=[ProfilerActivity.CPU, "
        "ProfilerActivity.CUDA], "
        "with one warm-up step inside the profiler's session and permission to read device counters.",
    )
