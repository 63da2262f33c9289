"""Whole, torn, empty, binary and strange files."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gantune.errors import CheckpointError
from gantune.profiling.trace import read_trace
from gantune.profiling.trace.json_stream import Header, stream_events

EVENTS = [{"ph": "X", "name": f"op {i}", "pid": 1, "tid": 1, "ts": 10 * i, "dur": 5} for i in range(9000)]
TEXT = json.dumps({"schemaVersion": 1, "traceEvents": EVENTS, "trace_id": "A"})


def names(path: Path) -> list[object]:
    return [event["name"] for event in stream_events(path, Header())]


def test_events_and_header_come_whole_from_object_list_and_gzip(tmp_path: Path) -> None:
    plain, listed, packed = (tmp_path / name for name in ("a.json", "b.json", "c.json.gz"))
    plain.write_text(TEXT)
    listed.write_text(json.dumps(EVENTS))
    packed.write_bytes(gzip.compress(TEXT.encode()))
    header = Header()
    events = list(stream_events(plain, header))
    assert events == EVENTS
    assert header.fields == {"schemaVersion": 1, "trace_id": "A"}
    assert list(stream_events(listed, Header())) == EVENTS
    assert list(stream_events(packed, Header())) == EVENTS


@pytest.mark.parametrize("kept", [0.3, 0.731, 0.9999])
def test_a_torn_file_gives_its_whole_events_and_a_warning(tmp_path: Path, kept: float) -> None:
    path = tmp_path / "torn.json"
    text = TEXT[: TEXT.index('], "trace_id"')]
    torn = text[: int(kept * len(text))]
    path.write_text(torn)
    header = Header()
    events = list(stream_events(path, header))
    assert events == EVENTS[: torn.count("}")]
    assert header.warnings


def test_a_torn_gzip_file_gives_what_can_be_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "torn.json.gz"
    packed = gzip.compress(TEXT.encode())
    path.write_bytes(packed[: len(packed) // 2])
    found = read_trace(path)
    assert 1000 < found.num_events < 9000
    assert any("ends in the middle" in warning for warning in found.warnings)


def test_a_damaged_gzip_file_gives_what_can_be_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "bad.json.gz"
    packed = bytearray(gzip.compress(TEXT.encode(), compresslevel=0))
    packed[-8:] = b"\0" * 8
    path.write_bytes(bytes(packed))
    found = read_trace(path)
    assert 8000 < found.num_events < 9000
    assert any("damaged" in warning for warning in found.warnings)


def test_control_characters_and_bad_utf8_in_names_are_read(tmp_path: Path) -> None:
    path = tmp_path / "odd.json"
    path.write_bytes(b'[{"ph":"X","name":"a\x01\nb\xff","pid":1,"tid":1,"ts":1,"dur":1}]')
    assert names(path) == ["a\x01\nb\ufffd"]


@pytest.mark.parametrize(
    "write",
    [
        lambda path: None,
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"   \n"),
        lambda path: path.write_bytes(bytes(range(256)) * 50),
        lambda path: path.write_bytes(b"\x1f\x8b" + bytes(range(256)) * 50),
        lambda path: path.write_bytes(gzip.compress(b"")),
        lambda path: path.write_text("hello"),
        lambda path: path.write_text('{"a": 1}'),
        lambda path: path.write_text('{"traceEvents": []}'),
        lambda path: path.write_text("[" + "x" * 10000 + "]"),
        lambda path: path.write_text('[{"ph": "X", "name": "no time"}]'),
        lambda path: path.write_text("[[[[[[[[["),
        lambda path: path.write_text("[" * 200_000),
    ],
)
def test_what_is_no_trace_is_refused_in_one_sentence(tmp_path: Path, write: Callable[[Path], object]) -> None:
    path = tmp_path / "bad.json"
    write(path)
    with pytest.raises(CheckpointError) as caught:
        read_trace(path)
    assert caught.value.exit_code == 3
    assert str(path) in str(caught.value) or "no traceEvents" in str(caught.value)


def test_an_event_larger_than_a_block_is_read(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    path.write_text(json.dumps([{"ph": "X", "name": "n" * 3_000_000, "ts": 1, "dur": 1}]))
    assert [len(str(name)) for name in names(path)] == [3_000_000]
