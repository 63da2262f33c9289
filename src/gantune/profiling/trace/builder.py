"""Events → columns, one at a time."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from gantune.profiling.trace.events import (
    BACKWARD,
    DOUBLE,
    HALF,
    LONG,
    Device,
    Geometry,
    Integers,
    Kind,
    MemorySamples,
    Trace,
    Track,
)
from gantune.profiling.trace.json_stream import Event, Header
from gantune.profiling.trace.kinds import (
    is_carrier,
    is_copy_name,
    is_pipeline_track,
    kind_of_category,
    kind_of_name,
    kind_of_track,
    user_line,
)

_TYPES = {
    "double": DOUBLE,
    "long int": LONG,
    "int64": LONG,
    "long": LONG,
    "c10::half": HALF,
    "c10::bfloat16": HALF,
}
_Number = TypeVar("_Number", bound=np.generic)
_LINK_MASK = 2**62 - 1
_NOTHING: dict[str, object] = {}


class _Numbering(dict[str, int]):
    """Number names in order of appearance."""

    def __missing__(self, name: str) -> int:
        number = self[name] = len(self)
        return number


@dataclass
class TraceBuilder:
    """Collect events; `build` gives the trace."""

    base_us: float | None = None
    num_skipped: int = 0
    start: array[float] = field(default_factory=lambda: array("d"))
    duration: array[float] = field(default_factory=lambda: array("d"))
    name: array[int] = field(default_factory=lambda: array("i"))
    category: array[int] = field(default_factory=lambda: array("i"))
    track: array[int] = field(default_factory=lambda: array("i"))
    link: array[int] = field(default_factory=lambda: array("q"))
    source: array[int] = field(default_factory=lambda: array("i"))
    types: array[int] = field(default_factory=lambda: array("B"))
    shape: array[int] = field(default_factory=lambda: array("i"))
    sequence: array[int] = field(default_factory=lambda: array("i"))
    names: _Numbering = field(default_factory=_Numbering)
    categories: _Numbering = field(default_factory=_Numbering)
    sources: _Numbering = field(default_factory=_Numbering)
    shapes: _Numbering = field(default_factory=_Numbering)
    lines: dict[str, int] = field(default_factory=dict)
    tracks: dict[tuple[str, str], int] = field(default_factory=dict)
    labels: dict[tuple[str, str], str] = field(default_factory=dict)
    kernels: array[float] = field(default_factory=lambda: array("d"))
    memory: array[float] = field(default_factory=lambda: array("d"))
    copy_bytes: dict[int, int] = field(default_factory=dict)
    open_events: dict[int, list[Event]] = field(default_factory=dict)
    step_rows: list[int] = field(default_factory=list)

    def add(self, event: Event) -> None:
        """Take one event; those without a usable time are counted and left out."""
        phase = event.get("ph")
        try:
            if phase == "X":
                self._add_complete(event, float(event.get("dur", 0) or 0))  # type: ignore[arg-type]
            elif phase == "M":
                self._add_label(event)
            elif phase == "i" and event.get("name") == "[memory]":
                self._add_memory(event)
            elif phase == "B":
                self.open_events.setdefault(self._track_of(event), []).append(event)
            elif phase == "E":
                self._close(event)
        except (KeyError, TypeError, ValueError, OverflowError):
            self.num_skipped += 1

    def _add_complete(self, event: Event, duration_us: float) -> None:
        start = float(event["ts"])  # type: ignore[arg-type]
        if not (duration_us >= 0 and np.isfinite(start) and np.isfinite(duration_us)):
            raise ValueError
        args = event.get("args") or _NOTHING
        if not isinstance(args, dict):
            args = _NOTHING
        name = str(event.get("name", ""))
        link = int(str(args.get("correlation") or args.get("correlation_id") or 0)) & _LINK_MASK
        track = self._track_of(event)
        stack, types, shapes = args.get("Call stack"), args.get("Input type"), args.get("Input Dims")
        if self.base_us is None:
            self.base_us = start
        row = len(self.start)
        self.start.append(start - self.base_us)
        self.duration.append(duration_us)
        self.name.append(self.names[name])
        self.category.append(self.categories[str(event.get("cat") or "")])
        self.track.append(track)
        self.link.append(link)
        self.source.append(self._line_of(stack) if stack else -1)
        is_backward = bool(args.get("Fwd thread id"))
        self.types.append((_flag_types(types, shapes) if types else 0) | (BACKWARD if is_backward else 0))
        self.sequence.append(int(str(args.get("Sequence number", -1))))
        self.shape.append(self.shapes[str(shapes)] if shapes else -1)
        if "grid" in args:
            self._add_geometry(row, args)
        elif link and "bytes" in args:
            self.copy_bytes[row] = int(str(args["bytes"]))
        if "step_num" in args:
            self.step_rows.append(row)

    def _add_geometry(self, row: int, args: dict[str, object]) -> None:
        occupancy = args.get("est. achieved occupancy %")
        share = float("nan") if occupancy is None else float(str(occupancy)) / 100
        registers = float(str(args.get("registers per thread") or 0))
        grid, block = _three(args["grid"]), _three(args.get("block"))
        self.kernels.extend([row, *grid, *block, share, registers])

    def _add_label(self, event: Event) -> None:
        args = event.get("args")
        if isinstance(args, dict) and event.get("name") in ("process_name", "thread_name"):
            thread = "" if event["name"] == "process_name" else str(event.get("tid"))
            self.labels[str(event.get("pid")), thread] = str(args.get("name", ""))

    def _add_memory(self, event: Event) -> None:
        args = event["args"]
        if isinstance(args, dict) and "Total Allocated" in args and self.base_us is not None:
            is_device = int(args.get("Device Type", 0)) != 0
            time_us = float(event["ts"]) - self.base_us  # type: ignore[arg-type]
            self.memory.extend([time_us, float(args["Total Allocated"]), float(is_device)])

    def _close(self, event: Event) -> None:
        stack = self.open_events.get(self._track_of(event))
        if not stack:
            self.num_skipped += 1
            return
        begun = stack.pop()
        self._add_complete(begun, float(event["ts"]) - float(begun["ts"]))  # type: ignore[arg-type]

    def _track_of(self, event: Event) -> int:
        key = (str(event.get("pid", "")), str(event.get("tid", "")))
        found = self.tracks.get(key)
        if found is None:
            found = self.tracks[key] = len(self.tracks)
        return found

    def _line_of(self, stack: object) -> int:
        text = str(stack)
        found = self.lines.get(text)
        if found is None:
            line = user_line(text)
            found = self.lines[text] = -1 if line is None else self.sources[line]
        return found

    def build(self, header: Header) -> Trace:
        """Give the trace in order of start; at least one event must have been added."""
        warnings = list(header.warnings)
        num_open = sum(map(len, self.open_events.values()))
        if self.num_skipped + num_open:
            warnings.append(f"{self.num_skipped + num_open} events without a usable time or end are left out")
        start = np.frombuffer(self.start, dtype=np.float64)
        order = np.argsort(start, kind="stable")
        offset = float(start[order[0]])
        tracks = self._named_tracks()
        kinds = self._kinds(tracks)
        rank_of_row = np.empty(len(order), dtype=np.int64)
        rank_of_row[order] = np.arange(len(order))
        return Trace(
            start_us=start[order] - offset,
            duration_us=_take(self.duration, np.float64, order),
            name=_take(self.name, np.int32, order),
            kind=kinds[order],
            track=_take(self.track, np.int32, order),
            link=_take(self.link, np.int64, order),
            source=_take(self.source, np.int32, order),
            types=_take(self.types, np.uint8, order),
            shape=_take(self.shape, np.int32, order),
            sequence=_take(self.sequence, np.int32, order),
            shapes=tuple(self.shapes),
            names=tuple(self.names),
            tracks=tracks,
            sources=tuple(self.sources),
            geometry=self._geometry(rank_of_row, kinds),
            memory=self._memory(offset),
            devices=_read_devices(header),
            framework=_find_framework(header, tracks),
            world_size=_read_distributed(header, "world_size"),
            rank=_read_distributed(header, "rank"),
            warnings=tuple(warnings),
            origin_ns=_read_origin(header, offset + (self.base_us or 0.0)),
            copy_bytes={int(rank_of_row[row]): size for row, size in self.copy_bytes.items()},
        )

    def _named_tracks(self) -> tuple[Track, ...]:
        return tuple(
            Track(pid, tid, self.labels.get((pid, ""), ""), self.labels.get((pid, tid), ""))
            for pid, tid in self.tracks
        )

    def _kinds(self, tracks: tuple[Track, ...]) -> NDArray[np.int8]:
        by_category = np.array([kind_of_category(name) for name in self.categories], dtype=np.int8)
        by_name = np.array([kind_of_name(name) or -1 for name in self.names], dtype=np.int8)
        by_track = np.array([kind_of_track(track) for track in tracks], dtype=np.int8)
        is_copy = np.array([is_copy_name(name) for name in self.names], dtype=bool)
        name, track = np.frombuffer(self.name, dtype=np.int32), np.frombuffer(self.track, dtype=np.int32)
        category = np.frombuffer(self.category, dtype=np.int32)
        kind = by_category[category]
        is_silent = np.array([name == "" for name in self.categories])[category]
        kind = np.where(is_silent, by_track[track], kind)
        kind = np.where(is_silent & (kind == Kind.KERNEL) & is_copy[name], np.int8(Kind.COPY), kind)
        is_host = np.isin(kind, [Kind.OPERATOR, Kind.RANGE, Kind.OTHER])
        # The device's copy of a named range is no host event.
        is_host &= ~np.array([name.startswith("gpu_") for name in self.categories])[category]
        kind = np.where(is_host & (by_name[name] >= 0), by_name[name], kind).astype(np.int8)
        kind[self.step_rows] = np.int8(Kind.STEP)
        is_waiting = np.array([is_pipeline_track(one) for one in tracks], dtype=bool)[track]
        is_carrying = np.array([is_carrier(one) for one in self.names], dtype=bool)[name]
        is_operator = is_silent & (kind == Kind.OPERATOR)
        kind[is_operator & is_waiting] = np.int8(Kind.RANGE)
        kind[is_operator & is_carrying] = np.int8(Kind.OTHER)
        # In a trace of an unknown program all events are its functions.
        return kind if (kind != Kind.OTHER).any() else np.full_like(kind, Kind.OPERATOR)

    def _geometry(self, rank_of_row: Integers, kinds: NDArray[np.int8]) -> Geometry:
        table = np.frombuffer(self.kernels, dtype=np.float64).reshape(-1, 9)
        # HIP writes the geometry into the launching call as well.
        table = table[kinds[table[:, 0].astype(np.int64)] == Kind.KERNEL]
        whole = table[:, :7].astype(np.int64)
        return Geometry(
            row=rank_of_row[whole[:, 0]],
            grid=whole[:, 1:4],
            block=whole[:, 4:7],
            occupancy=table[:, 7],
            registers=table[:, 8].astype(np.int64),
        )

    def _memory(self, offset: float) -> MemorySamples:
        table = np.array(self.memory, dtype=np.float64).reshape(-1, 3)
        table = table[np.argsort(table[:, 0], kind="stable")]
        return MemorySamples(table[:, 0] - offset, table[:, 1].astype(np.int64), table[:, 2] > 0)


def _three(sizes: object) -> list[float]:
    """Give the three sizes of a grid or block; zeros where the profiler did not say."""
    if not isinstance(sizes, list) or not sizes:
        return [0.0, 0.0, 0.0]
    return [float(size) for size in [*sizes, 1, 1][:3]]


def _take(column: array[float] | array[int], dtype: type[_Number], order: Integers) -> NDArray[_Number]:
    """Give a column in order and empty its array, so that there are never two of all columns."""
    taken = np.frombuffer(column, dtype=dtype)[order]
    del column[:]
    return taken


def _flag_types(types: object, shapes: object) -> int:
    """Flag the types of inputs that have a shape: plain Python numbers are float64 and cost nothing."""
    flags = 0
    if isinstance(types, list) and isinstance(shapes, list):
        for name, shape in zip(types, shapes, strict=False):
            if shape:
                flags |= _TYPES.get(str(name).lower(), 0)
    return flags


def _read_devices(header: Header) -> tuple[Device, ...]:
    listed = header.fields.get("deviceProperties")
    devices = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return tuple(
        Device(
            name=str(one.get("name", "unknown")),
            num_processors=_integer(one.get("numSms")),
            max_threads_a_processor=_integer(one.get("maxThreadsPerMultiprocessor")),
            compute_major=_integer(one.get("computeMajor")),
        )
        for one in devices
    )


def _read_origin(header: Header, first_us: float) -> float | None:
    base = header.fields.get("baseTimeNanoseconds")
    return float(base) + first_us * 1e3 if isinstance(base, int) else None


def _read_distributed(header: Header, name: str) -> int | None:
    found = header.fields.get("distributedInfo")
    return _integer(found.get(name)) if isinstance(found, dict) else None


def _integer(value: object) -> int | None:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _find_framework(header: Header, tracks: tuple[Track, ...]) -> str:
    if (
        "schemaVersion" in header.fields
        or "deviceProperties" in header.fields
        or "distributedInfo" in header.fields
    ):
        return "PyTorch"
    if any(t.process_name.startswith(("/host:", "/device:", "/job:")) for t in tracks):
        return "TensorFlow"
    return "PyTorch" if any(t.thread == "PyTorch Profiler" for t in tracks) else "unknown"
