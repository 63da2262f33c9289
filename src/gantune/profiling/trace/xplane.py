"""TensorFlow's own recordings (`*.xplane.pb`), read from the wire format without TensorFlow.

The messages are those of tensorflow/tsl `xplane.proto`: a space of planes (a host or a device), planes of
lines (a thread or a stream), lines of events whose names stand once in the plane.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from gantune.errors import CheckpointError
from gantune.profiling.trace.json_stream import Event, Header
from gantune.profiling.trace.unpacking import UnpackedFile

SUFFIXES = (".xplane.pb", ".xplane.pb.gz")
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_PS_A_US = 1e6
_NS_A_US = 1e3
# Field numbers.
_SPACE_PLANES = 1
_PLANE_NAME, _PLANE_LINES, _PLANE_EVENTS, _PLANE_STATS = 2, 3, 4, 5
_LINE_ID, _LINE_NAME, _LINE_START_NS, _LINE_EVENTS, _LINE_SHOWN = 1, 2, 3, 4, 11
_EVENT_NAME, _EVENT_OFFSET_PS, _EVENT_DURATION_PS, _EVENT_STATS = 1, 2, 3, 4
_STAT_NAME, _STAT_UNSIGNED, _STAT_SIGNED = 1, 3, 4
_ENTRY_KEY, _ENTRY_VALUE, _METADATA_NAME = 1, 2, 2
_STEP = "step_num"


class _Field(NamedTuple):
    number: int
    whole: int
    part: memoryview


_NO_BYTES = memoryview(b"")


@dataclass
class _Plane:
    name: str = ""
    lines: list[memoryview] = field(default_factory=list)
    events: dict[int, str] = field(default_factory=dict)
    stats: dict[int, str] = field(default_factory=dict)


def is_xplane(path: Path) -> bool:
    """Say whether a file's name is that of a recording of TensorFlow's profiler."""
    return path.name.endswith(SUFFIXES)


def stream_xplane(path: Path, header: Header) -> Iterator[Event]:
    """Yield the events of a recording as those of a Chrome trace; markers without a duration are left out.

    Raises `CheckpointError` for a file that is absent, empty or no such recording.
    """
    if not path.is_file():
        raise CheckpointError(f"There is no trace file at {path}. Name a recording of TensorFlow's profiler.")
    file = UnpackedFile(path)
    content = memoryview(b"".join(file.blocks()))
    if file.damage:
        header.warnings.append(file.damage)
    try:
        for number, found in enumerate(_fields(content)):
            if found.number == _SPACE_PLANES:
                yield from _plane_events(_read_plane(found.part), str(number))
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise CheckpointError(
            f"{path} is not a recording of TensorFlow's profiler, or is cut off ({error}). "
            "Record it again with tf.profiler.experimental."
        ) from None


def _read_plane(content: memoryview) -> _Plane:
    plane = _Plane()
    for number, _, part in _fields(content):
        if number == _PLANE_NAME:
            plane.name = str(part, "utf-8")
        elif number == _PLANE_LINES:
            plane.lines.append(part)
        elif number in (_PLANE_EVENTS, _PLANE_STATS):
            key, name = _read_name(part)
            (plane.events if number == _PLANE_EVENTS else plane.stats)[key] = name
    return plane


def _read_name(entry: memoryview) -> tuple[int, str]:
    """Read an entry of a map from numbers to metadata: the number and the name."""
    key, name = 0, ""
    for number, whole, part in _fields(entry):
        if number == _ENTRY_KEY:
            key = whole
        elif number == _ENTRY_VALUE:
            name = next((str(one.part, "utf-8") for one in _fields(part) if one.number == _METADATA_NAME), "")
    return key, name


def _plane_events(plane: _Plane, process: str) -> Iterator[Event]:
    yield {"ph": "M", "name": "process_name", "pid": process, "args": {"name": plane.name}}
    for line in plane.lines:
        thread, shown, start_ns, events = "", "", 0, []
        for number, whole, part in _fields(line):
            if number == _LINE_ID:
                thread = str(whole)
            elif number in (_LINE_NAME, _LINE_SHOWN):
                shown = shown or str(part, "utf-8")
            elif number == _LINE_START_NS:
                start_ns = whole
            elif number == _LINE_EVENTS:
                events.append(part)
        label = {"ph": "M", "name": "thread_name", "pid": process, "tid": thread}
        yield {**label, "args": {"name": shown}}
        for event in events:
            found = _read_event(event, plane, start_ns)
            if found is not None:
                yield {**found, "ph": "X", "pid": process, "tid": thread}


def _read_event(content: memoryview, plane: _Plane, start_ns: int) -> Event | None:
    name, offset_ps, duration_ps = "", 0, 0
    args: dict[str, object] = {}
    for number, whole, part in _fields(content):
        if number == _EVENT_NAME:
            name = plane.events.get(whole, "")
        elif number == _EVENT_OFFSET_PS:
            offset_ps = whole
        elif number == _EVENT_DURATION_PS:
            duration_ps = whole
        elif number == _EVENT_STATS:
            stat, value = _read_stat(part)
            if plane.stats.get(stat) == _STEP:
                args[_STEP] = value
    if duration_ps == 0:
        return None
    start_us = start_ns / _NS_A_US + offset_ps / _PS_A_US
    return {"name": name, "ts": start_us, "dur": duration_ps / _PS_A_US, "args": args}


def _read_stat(content: memoryview) -> tuple[int, int]:
    name, value = 0, 0
    for number, whole, _ in _fields(content):
        if number == _STAT_NAME:
            name = whole
        elif number in (_STAT_UNSIGNED, _STAT_SIGNED):
            value = whole
    return name, value


def _fields(content: memoryview) -> Iterator[_Field]:
    """Walk the fields of one message; raise IndexError or struct.error where it ends inside of one."""
    at, size = 0, len(content)
    while at < size:
        tag, at = _varint(content, at)
        number, kind = tag >> 3, tag & 7
        if number == 0:
            raise IndexError("no field has the number 0")
        if kind == _VARINT:
            whole, at = _varint(content, at)
            yield _Field(number, whole, _NO_BYTES)
        elif kind == _BYTES:
            length, at = _varint(content, at)
            if at + length > size:
                raise IndexError("a message is longer than what is left")
            yield _Field(number, 0, content[at : at + length])
            at += length
        elif kind in (_FIXED64, _FIXED32):
            (whole,) = struct.unpack_from("<Q" if kind == _FIXED64 else "<I", content, at)
            at += 8 if kind == _FIXED64 else 4
            yield _Field(number, whole, _NO_BYTES)
        else:
            raise IndexError(f"there is no wire type {kind}")


def _varint(content: memoryview, at: int) -> tuple[int, int]:
    value, shift = 0, 0
    while True:
        byte = content[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
