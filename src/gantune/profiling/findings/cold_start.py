"""The window is mostly the device's start: what it shows happens once and is no step."""

import numpy as np

from gantune.profiling.findings.conclusion import conclude, percent, say_ms, top_names
from gantune.profiling.scene import Scene
from gantune.records.profile import Evidence, Finding

# With more of the window lost to one-off calls than left, nothing else in it can be judged.
MIN_SHARE = 0.5


def find(scene: Scene) -> Finding | None:
    """Fire where one-off runtime calls leave the device idle for most of the window."""
    if scene.device is None:
        return None
    share = scene.seen.share(scene.device.idle_by_cause["setup"])
    if share < MIN_SHARE:
        return None
    rows = np.flatnonzero(scene.device.is_setup)
    longest = rows[np.argmax(scene.seen.trace.duration_us[rows])]
    name = scene.seen.trace.names[scene.seen.trace.name[longest]]
    return conclude(
        "cold_start",
        share,
        evidence=(
            Evidence(
                text=f"{len(rows)} one-off calls take {percent(share)} of the window; {name} alone takes "
                f"{say_ms(float(scene.seen.trace.duration_us[longest]))}.",
                events=top_names(scene.seen.trace, scene.device.is_setup),
            ),
        ),
        confidence="high",
        remedy="Profile again after a warm-up: run some steps first, then start the profiler "
        "(schedule(wait=1, warmup=2, active=3)). A start this slow loads kernels for the device lazily or "
        "compiles them: use a build made for this device.",
    )
