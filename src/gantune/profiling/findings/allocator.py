"""Getting and returning memory takes the step's time."""

from gantune.profiling.findings.conclusion import MIN_SHARE, conclude, percent, say_ms, top_names
from gantune.profiling.scene import Scene
from gantune.profiling.vocabulary import is_allocating
from gantune.records.profile import Evidence, Finding

# Measured on StyleGAN3 and StyleGAN2 at 1024: 1.0 and 0.9 µs of wall time a minor fault on two threads.
FAULT_US = 1.0
# Every training step faults in some memory.
MIN_HOST_SHARE = 0.10


def find(scene: Scene) -> Finding | None:
    """Fire where the device's allocation calls leave it idle, or page faults take the host's time."""
    return _on_host(scene) if scene.device is None else _on_device(scene)


def _on_device(scene: Scene) -> Finding | None:
    assert scene.device is not None
    seen = scene.seen
    share = seen.share(scene.device.idle_by_cause["allocator"])
    if share < MIN_SHARE:
        return None
    calls = seen.named(is_allocating) & ~scene.device.is_setup & seen.in_window
    return conclude(
        "allocator",
        share,
        evidence=(
            Evidence(
                text=f"{int(calls.sum()):,} calls that allocate or free device memory take "
                f"{say_ms(scene.device.allocating.total)} of {say_ms(seen.window_us)}; freeing waits for "
                f"the device, "
                f"which is idle for {percent(share)} of the window.",
                events=top_names(seen.trace, calls),
                source_line=scene.host.line_of(calls),
            ),
        ),
        confidence="high",
        remedy="Keep memory between steps: leave the framework's caching allocator on (no "
        "PYTORCH_NO_CUDA_MEMORY_CACHING), "
        "no empty_cache() in the step, constant batch shapes, and room below the memory limit "
        "(PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True).",
    )


def _on_host(scene: Scene) -> Finding | None:
    counters = scene.seen.counters
    if counters.minor_faults is None:
        return None
    steps = max(len(scene.seen.steps), 1)
    step_us = counters.as_is_ms * 1e3 if counters.as_is_ms else scene.seen.window_us / steps
    fault_us = counters.minor_faults * FAULT_US
    if counters.system_ms is not None:
        # Faults are served in the kernel: they cannot take longer than it did.
        fault_us = min(fault_us, counters.system_ms * 1e3)
    share = min(fault_us / step_us, 0.9)
    if share < MIN_HOST_SHARE:
        return None
    return conclude(
        "allocator",
        share,
        evidence=(
            Evidence(
                text=f"{counters.minor_faults:,.0f} minor page faults a step: the allocator returns large "
                f"tensors to the "
                f"system and maps them anew; at {FAULT_US:.0f} µs each that is {percent(share)} of the step."
            ),
        ),
        confidence="high" if share > 2 * MIN_HOST_SHARE else "medium",
        remedy="Keep memory in the process: MALLOC_MMAP_THRESHOLD_=8000000000 "
        "MALLOC_TRIM_THRESHOLD_=8000000000, "
        "or gantune.runtime.load(…, tune_allocator=True); or preload tcmalloc. Peak memory rises by 1.2 "
        "to 1.8.",
    )
