"""The host waits for the device, and the device then waits for the host."""

import numpy as np

from gantune.profiling.findings.conclusion import MIN_SHARE, conclude, percent, say_ms, top_names
from gantune.profiling.scene import Scene
from gantune.profiling.vocabulary import is_copying, is_optimizer_step
from gantune.records.profile import Evidence, Finding

# One read a loss and step is usual.
MANY_READS = 10


def find(scene: Scene) -> Finding | None:
    """Fire where waiting calls leave the device idle; waiting for a busy device costs nothing."""
    if scene.device is None:
        return _on_host(scene)
    seen, trace = scene.seen, scene.seen.trace
    share = seen.share(scene.device.idle_by_cause["waiting"])
    if share < MIN_SHARE:
        return None
    waits = scene.device.is_waiting & seen.in_window
    copies = waits & seen.named(is_copying)
    items = int((seen.named(lambda name: name == "aten::item") & seen.in_window).sum())
    evidence = [
        Evidence(
            text=f"{int(waits.sum()):,} waiting calls hold the host for "
            f"{say_ms(scene.device.waiting.total)} of "
            f"{say_ms(seen.window_us)}; the device is idle for {percent(share)} of the window because of "
            f"them.",
            events=top_names(trace, waits),
            source_line=scene.host.line_of(waits),
        )
    ]
    if copies.any():
        sizes = [trace.copy_bytes[row] for row in _copies_of(scene, copies) if row in trace.copy_bytes]
        median = f" of {np.median(sizes):,.0f} bytes (median)" if sizes else ""
        evidence.append(Evidence(text=f"{int(copies.sum()):,} of them are copies{median} that return late."))
    if items:
        evidence.append(Evidence(text=f"item() is called {items:,} times.", events=("aten::item",)))
    return conclude(
        "synchronization",
        share,
        evidence=evidence,
        confidence="high",
        remedy="Read values from the device once every few steps, not in each (no item(), cpu(), print or "
        "comparison of device tensors in the step); copy with non_blocking=True from pinned memory.",
    )


def _on_host(scene: Scene) -> Finding | None:
    """Count reads of single values: cheap on a CPU, and each waits for the device once there is one."""
    seen, trace = scene.seen, scene.seen.trace
    reads = seen.named(lambda name: name == "aten::item") & seen.in_window
    # Optimizers read their own step counters.
    stepping = seen.time_of(seen.named(is_optimizer_step) & seen.is_host)
    reads &= ~stepping.covers(trace.start_us)
    a_step = int(reads.sum()) / max(len(seen.steps), 1)
    if scene.is_device_missing or not seen.steps or a_step < MANY_READS:
        return None
    share = seen.share(seen.time_of(reads))
    each_us = float(np.median(trace.duration_us[reads]))
    return conclude(
        "synchronization",
        share,
        evidence=(
            Evidence(
                text=f"item() is called {a_step:,.0f} times a step; at {each_us:.1f} µs each that is "
                f"{percent(share)} of the window on a CPU. "
                f"On a GPU each call would wait for all work before it.",
                events=("aten::item",),
                source_line=scene.host.line_of(reads),
            ),
        ),
        confidence="high",
        remedy="Before this runs on a GPU, read values once every few steps; "
        "on a CPU there is little to gain.",
    )


def _copies_of(scene: Scene, calls: "np.ndarray[tuple[int], np.dtype[np.bool_]]") -> list[int]:
    """Give the rows of the device work that the marked calls started."""
    launch = scene.seen.launch_of
    works = np.flatnonzero(launch >= 0)
    return [int(row) for row in works[calls[launch[works]]]]
