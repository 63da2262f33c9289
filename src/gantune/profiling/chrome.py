"""A scene as a Chrome trace that Perfetto opens, with phases and idle causes as rows of their own."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from gantune.profiling.scene import Scene
from gantune.profiling.trace.events import Kind

# A trace stays small enough to open, whatever the program did: the shortest events go first.
MAX_EVENTS = 400_000
_IDLE = {
    "data": "data loading",
    "setup": "device setup",
    "allocator": "allocator",
    "waiting": "synchronization",
    "host": "host busy",
    "unknown": "unexplained",
}
_CATEGORIES = {
    Kind.OPERATOR: "cpu_op",
    Kind.RUNTIME: "cuda_runtime",
    Kind.KERNEL: "kernel",
    Kind.COPY: "gpu_memcpy",
    Kind.FILL: "gpu_memset",
    Kind.PYTHON: "python_function",
    Kind.RANGE: "user_annotation",
    Kind.STEP: "user_annotation",
}


def write_chrome_trace(scene: Scene, path: Path, *, max_events: int = MAX_EVENTS) -> None:
    """Write the window's events as gzip JSON; control characters in names are escaped."""
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=6) as file:
        file.write('{"displayTimeUnit": "ms", "schemaVersion": 1, "traceEvents": [\n')
        separator = ""
        for event in _events(scene, max_events):
            file.write(separator + json.dumps(event))
            separator = ",\n"
        file.write("\n]}\n")


def _events(scene: Scene, max_events: int) -> Iterator[dict[str, object]]:
    trace = scene.seen.trace
    rows = np.flatnonzero(scene.seen.in_window & ~trace.of_kind(Kind.OTHER))
    if len(rows) > max_events:
        longest = np.argpartition(-trace.duration_us[rows], max_events)[:max_events]
        rows = np.sort(rows[longest])
    for number in np.unique(trace.track[rows]):
        track = trace.tracks[number]
        yield _label("process_name", track.process, 0, track.process_name or track.process)
        yield _label("thread_name", track.process, int(number), track.thread_name or track.thread)
    for row in rows.tolist():
        track = trace.tracks[trace.track[row]]
        event: dict[str, object] = {
            "ph": "X",
            "cat": _CATEGORIES[Kind(trace.kind[row])],
            "name": trace.names[trace.name[row]],
            "pid": track.process,
            "tid": int(trace.track[row]),
            "ts": round(float(trace.start_us[row]), 3),
            "dur": round(float(trace.duration_us[row]), 3),
        }
        if trace.link[row]:
            event["args"] = {"correlation": int(trace.link[row])}
        yield event
    yield from _idle_events(scene)


def _idle_events(scene: Scene) -> Iterator[dict[str, object]]:
    if scene.device is None:
        return
    yield _label("process_name", "gantune", 0, "gantune: why the device is idle")
    for name, time in scene.device.idle_by_cause.items():
        for start, end in zip(time.start.tolist(), time.end.tolist(), strict=True):
            yield {
                "ph": "X",
                "cat": "gantune_idle",
                "name": _IDLE[name],
                "pid": "gantune",
                "tid": 0,
                "ts": round(start, 3),
                "dur": round(end - start, 3),
            }


def _label(kind: str, process: str, thread: int, name: str) -> dict[str, object]:
    return {"ph": "M", "name": kind, "pid": process, "tid": thread, "ts": 0, "args": {"name": name}}
