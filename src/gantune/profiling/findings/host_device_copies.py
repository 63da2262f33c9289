"""Copies between host and device, or on it, keep the device from computing."""

import numpy as np

from gantune.profiling.findings.conclusion import MIN_SHARE, conclude, percent, top_names
from gantune.profiling.scene import Scene
from gantune.profiling.trace.events import Kind
from gantune.records.profile import Evidence, Finding


def find(scene: Scene) -> Finding | None:
    """Fire where copies run while no kernel does."""
    seen = scene.seen
    if scene.device is None or seen.share(scene.device.exposed_copies) < MIN_SHARE:
        return None
    share = seen.share(scene.device.exposed_copies)
    copies = seen.trace.of_kind(Kind.COPY) & seen.in_window
    total = sum(seen.trace.copy_bytes.get(int(row), 0) for row in np.flatnonzero(copies))
    is_pageable = any("Pageable" in name for name in top_names(seen.trace, copies, count=10))
    how = "pinned memory (DataLoader(pin_memory=True)) and " if is_pageable else ""
    return conclude(
        "host_device_copies",
        share,
        evidence=(
            Evidence(
                text=f"{int(copies.sum()):,} copies of {total / 2**20:,.1f} MiB in all run alone for "
                f"{percent(share)} of the window.",
                events=top_names(seen.trace, copies),
                source_line=scene.host.line_of(copies),
            ),
        ),
        confidence="high",
        remedy=f"Copy from {how}with non_blocking=True, one step ahead of its use; keep on the device "
        f"what stays the same.",
    )
