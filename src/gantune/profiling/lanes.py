"""A scene's events in lanes, for a page to draw: one lane a thread and depth, or a stream."""

import numpy as np
from numpy.typing import NDArray

from gantune.profiling.nesting import find_parents
from gantune.profiling.scene import Scene
from gantune.profiling.trace.events import DEVICE_KINDS, Integers, Kind, Trace
from gantune.reporting.timeline import GROUPS, Timeline

MAX_EVENTS = 100_000
MAX_DEPTH = 8
_GROUP = {
    Kind.OTHER: "other",
    Kind.OPERATOR: "operator",
    Kind.RUNTIME: "runtime",
    Kind.KERNEL: "kernel",
    Kind.COPY: "copy",
    Kind.FILL: "copy",
    Kind.PYTHON: "python",
    Kind.RANGE: "range",
    Kind.STEP: "step",
}


def lay_out(scene: Scene, *, max_events: int = MAX_EVENTS) -> Timeline:
    """Lay out the window's events; beyond `max_events` the shortest are left out."""
    trace = scene.seen.trace
    rows = np.flatnonzero(scene.seen.in_window & ~trace.of_kind(Kind.OTHER))
    num_events = len(rows)
    if num_events > max_events:
        longest = np.argpartition(-trace.duration_us[rows], max_events)[:max_events]
        rows = np.sort(rows[longest])
    depth = np.minimum(_depths(rows, find_parents(trace, rows)), MAX_DEPTH - 1)
    lane, lanes = _number_lanes(trace, rows, depth)
    order = np.lexsort((trace.start_us[rows], lane))
    rows, lane = rows[order], lane[order]
    used, name = np.unique(trace.name[rows], return_inverse=True)
    groups = np.array([GROUPS.index(_GROUP[kind]) for kind in Kind], dtype=np.uint8)
    origin = float(scene.seen.window.start[0]) if len(scene.seen.window.start) else 0.0
    return Timeline(
        lanes=lanes,
        names=tuple(trace.names[number] for number in used),
        start_us=trace.start_us[rows] - origin,
        duration_us=trace.duration_us[rows].astype(np.float32),
        lane=lane.astype(np.uint16),
        name=name.astype(np.uint32),
        group=groups[trace.kind[rows]],
        num_events=num_events,
    )


def _depths(rows: Integers, parents: Integers) -> Integers:
    """Count how many events contain each one."""
    place = {int(row): index for index, row in enumerate(rows)}
    above = np.array([place.get(int(parent), -1) for parent in parents], dtype=np.int64)
    depth, at = np.zeros(len(rows), dtype=np.int64), above.copy()
    while (is_inside := at >= 0).any():
        depth[is_inside] += 1
        at[is_inside] = above[at[is_inside]]
    return depth


def _number_lanes(trace: Trace, rows: Integers, depth: Integers) -> tuple[Integers, tuple[str, ...]]:
    """Give (track, depth) numbers in the order shown: devices first, then the busiest threads."""
    is_device = trace.of_kind(*DEVICE_KINDS)
    tracks: NDArray[np.int32] = np.unique(trace.track[rows])
    busy = {int(track): float(trace.duration_us[rows][trace.track[rows] == track].sum()) for track in tracks}
    on_device = {int(track): bool(is_device[rows][trace.track[rows] == track].any()) for track in tracks}
    lanes: list[str] = []
    lane = np.zeros(len(rows), dtype=np.int64)
    for track in sorted(busy, key=lambda one: (not on_device[one], -busy[one])):
        mine = trace.track[rows] == track
        label = _label(trace, track, is_device=on_device[track])
        for level in np.unique(depth[mine]):
            lane[mine & (depth == level)] = len(lanes)
            lanes.append(label if level == depth[mine].min() else "")
    return lane, tuple(lanes)


def _label(trace: Trace, track: int, *, is_device: bool) -> str:
    found = trace.tracks[track]
    if is_device:
        stream = found.thread if "stream" in found.thread else f"stream {found.thread}"
        return f"device {found.process}, {stream}"
    return found.thread_name or f"thread {found.thread}"
