"""Add ranges to a trace that were seen by another observer than its profiler."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gantune.profiling.trace.events import Kind, Trace, Track


@dataclass(frozen=True)
class Span:
    """A range by name and kind, in nanoseconds of the wall clock, on a thread of a process."""

    name: str
    kind: Kind
    start_ns: float
    end_ns: float
    process: str
    thread: str


def add_spans(trace: Trace, spans: Sequence[Span]) -> Trace:
    """Give the trace with the spans among its events; it must know its `origin_ns`."""
    if not spans:
        return trace
    assert trace.origin_ns is not None, "the trace does not say when it begins"
    start = (np.array([span.start_ns for span in spans]) - trace.origin_ns) / 1e3
    duration = np.array([max(span.end_ns - span.start_ns, 0.0) for span in spans]) / 1e3
    names = {name: number for number, name in enumerate(trace.names)}
    tracks = {(track.process, track.thread): number for number, track in enumerate(trace.tracks)}
    name = np.array([names.setdefault(span.name, len(names)) for span in spans], dtype=np.int32)
    track = np.array([tracks.setdefault((s.process, s.thread), len(tracks)) for s in spans], dtype=np.int32)
    added = tuple(Track(*key) for key in list(tracks)[len(trace.tracks) :])
    order = np.argsort(np.concatenate([trace.start_us, start]), kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    unknown = np.full(len(spans), -1, dtype=np.int32)
    return replace(
        trace,
        start_us=np.concatenate([trace.start_us, start])[order],
        duration_us=np.concatenate([trace.duration_us, duration])[order],
        name=np.concatenate([trace.name, name])[order],
        kind=np.concatenate([trace.kind, np.array([span.kind for span in spans], dtype=np.int8)])[order],
        track=np.concatenate([trace.track, track])[order],
        link=np.concatenate([trace.link, np.zeros(len(spans), dtype=np.int64)])[order],
        source=np.concatenate([trace.source, unknown])[order],
        types=np.concatenate([trace.types, np.zeros(len(spans), dtype=np.uint8)])[order],
        shape=np.concatenate([trace.shape, unknown])[order],
        sequence=np.concatenate([trace.sequence, unknown])[order],
        names=tuple(names),
        tracks=trace.tracks + added,
        geometry=replace(trace.geometry, row=rank[trace.geometry.row]),
        copy_bytes={int(rank[row]): size for row, size in trace.copy_bytes.items()},
    )
