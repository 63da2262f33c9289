"""TensorFlow's own recordings: written here field by field, a recorded one, and damaged ones."""

import gzip
from pathlib import Path

import pytest

from gantune.errors import CheckpointError
from gantune.profiling.scene import see
from gantune.profiling.summary import summarize
from gantune.profiling.trace import Kind, read_trace

# tests/planted/keras_gan.py --capture, TensorFlow 2.21 on two cores.
RECORDED = Path(__file__).parents[2] / "traces" / "keras.xplane.pb.gz"


def varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def message(field: int, content: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(content)) + content


def metadata(field: int, key: int, name: str) -> bytes:
    return message(field, number(1, key) + message(2, number(1, key) + message(2, name.encode())))


def event(name: int, offset_ps: int, duration_ps: int, *, step: int | None = None) -> bytes:
    stats = b"" if step is None else message(4, number(1, 9) + number(4, step))
    return message(4, number(1, name) + number(2, offset_ps) + number(3, duration_ps) + stats)


def line(identifier: int, name: str, start_ns: int, *events: bytes) -> bytes:
    return message(
        3, number(1, identifier) + message(2, name.encode()) + number(3, start_ns) + b"".join(events)
    )


def write(path: Path, *lines: bytes) -> Path:
    names = [(1, "train"), (2, "a/MatMul:MatMul"), (3, "IteratorGetNextOp::DoCompute"), (4, "resize:Resize")]
    known = b"".join(metadata(4, key, name) for key, name in names) + metadata(5, 9, "step_num")
    path.write_bytes(message(1, number(1, 7) + message(2, b"/host:CPU") + b"".join(lines) + known))
    return path


def test_events_have_their_names_threads_and_times(tmp_path: Path) -> None:
    main = line(1, "python", 1000, event(1, 0, 8_000_000, step=5), event(2, 5_000_000, 2_000_000))
    path = write(tmp_path / "t.xplane.pb", main, line(2, "tf_Compute/1", 3000, event(2, 0, 0)))
    trace = read_trace(path)
    assert [trace.names[n] for n in trace.name] == ["train", "a/MatMul:MatMul"]
    assert trace.start_us.tolist() == [0, 5]
    assert trace.duration_us.tolist() == [8, 2]
    assert trace.kind.tolist() == [Kind.STEP, Kind.OPERATOR]
    assert trace.framework == "TensorFlow"
    assert {(one.process_name, one.thread_name) for one in trace.tracks} == {("/host:CPU", "python")}


def test_a_graph_that_waits_for_its_iterator_is_data_loading(tmp_path: Path) -> None:
    # A step of 10 µs: 6 wait for a batch, of which a product covers one; the pipeline's work is no operator.
    path = write(
        tmp_path / "t.xplane.pb",
        line(1, "python", 0, event(1, 0, 10_000_000, step=1)),
        line(2, "tf_data_iterator_get_next/1", 0, event(3, 0, 6_000_000)),
        line(3, "tf_data_private_threadpool/1", 0, event(4, 0, 6_000_000)),
        line(4, "tf_Compute/1", 0, event(2, 5_000_000, 5_000_000)),
    )
    scene = see(read_trace(path))
    found = summarize(scene, source="", command="").findings[0]
    assert (found.kind, found.share) == ("data_loading", pytest.approx(0.5))
    assert "for tf.data for 50 % of the window (1 calls" in found.evidence[0].text
    assert "resize:Resize takes longest" in found.evidence[1].text


def test_a_recorded_keras_gan_waits_for_tf_data() -> None:
    found = summarize(see(read_trace(RECORDED)), source="", command="")
    assert found.framework == "TensorFlow"
    assert found.num_steps == 4
    first = found.findings[0]
    assert first.kind == "data_loading"
    assert first.share == pytest.approx(0.76, abs=0.01)
    assert "prefetch" in first.remedy


@pytest.mark.parametrize("kind", ["torn", "text", "empty", "missing"])
def test_what_is_no_whole_recording_is_refused_in_one_sentence(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "t.xplane.pb"
    whole = gzip.decompress(RECORDED.read_bytes())
    content = {"torn": whole[: len(whole) // 2], "text": b"these are no events", "empty": b""}
    if kind != "missing":
        path.write_bytes(content[kind])
    with pytest.raises(CheckpointError, match=r"xplane\.pb"):
        read_trace(path)
