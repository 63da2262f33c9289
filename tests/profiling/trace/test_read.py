"""Schemas: begin and end events, TensorFlow's profiler and timeline, several ranks, unknown programs."""

import json
from pathlib import Path

import pytest

from gantune.profiling.findings import diagnose
from gantune.profiling.scene import see
from gantune.profiling.trace import Kind, read_trace

Event = dict[str, object]


def write(path: Path, events: list[Event], **header: object) -> Path:
    path.write_text(json.dumps({**header, "traceEvents": events}))
    return path


def label(kind: str, pid: int, tid: int, name: str) -> Event:
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": name}}


def span(name: str, pid: int, tid: int, start_us: float, duration_us: float, **args: object) -> Event:
    return {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": start_us, "dur": duration_us, "args": args}


def test_begin_and_end_pair_up_by_thread_and_depth(tmp_path: Path) -> None:
    events: list[Event] = [
        {"ph": "B", "name": "outer", "pid": 1, "tid": 1, "ts": 10},
        {"ph": "B", "name": "other", "pid": 1, "tid": 2, "ts": 11},
        {"ph": "B", "name": "inner", "pid": 1, "tid": 1, "ts": 12},
        {"ph": "E", "pid": 1, "tid": 1, "ts": 15},
        {"ph": "E", "pid": 1, "tid": 1, "ts": 30},
        {"ph": "E", "pid": 9, "tid": 9, "ts": 31},
    ]
    trace = read_trace(write(tmp_path / "t.json", events))
    found = {trace.names[n]: d for n, d in zip(trace.name, trace.duration_us, strict=True)}
    assert found == {"outer": 20.0, "inner": 3.0}
    # "other" has no end, and one end has no begin.
    assert "2 events" in trace.warnings[0]


def tensorflow_events(*, next_us: float) -> list[Event]:
    """Four steps of 1000 µs, each of which waits for the next batch and then computes."""
    events = [
        label("process_name", 701, 0, "/host:CPU"),
        label("thread_name", 701, 1, "python"),
        label("process_name", 1, 0, "/device:GPU:0"),
        label("thread_name", 1, 7, "Stream #7(Compute)"),
    ]
    for step in range(4):
        at = step * 1000.0
        events += [
            span("train", 701, 1, at, 1000, step_num=str(step)),
            span("IteratorGetNext", 701, 1, at, next_us),
            span("EagerKernelExecute", 701, 1, at + next_us, 950 - next_us),
            span("volta_sgemm", 1, 7, at + next_us + 5, 990 - next_us),
        ]
    return events


def test_tensorflow_s_profiler_waits_for_tf_data(tmp_path: Path) -> None:
    trace = read_trace(write(tmp_path / "slow.json", tensorflow_events(next_us=700)))
    assert trace.framework == "TensorFlow"
    scene = see(trace)
    assert len(scene.seen.steps) == 4
    finding = diagnose(scene)[0]
    assert (finding.kind, finding.share) == ("data_loading", pytest.approx(0.7, abs=0.02))
    assert "tf.data.AUTOTUNE" in finding.remedy
    healthy = see(read_trace(write(tmp_path / "fast.json", tensorflow_events(next_us=10))))
    assert diagnose(healthy)[0].kind == "nothing_to_mend"


def test_tensorflow_s_timeline_has_operators(tmp_path: Path) -> None:
    process = "/job:localhost/replica:0/task:0/device:CPU:0 Compute"
    events = [label("process_name", 1, 0, process)]
    events += [span("Conv2D", 1, 0, i * 100, 90, op="Conv2D") | {"cat": "Op"} for i in range(9)]
    trace = read_trace(write(tmp_path / "t.json", events))
    assert trace.framework == "TensorFlow"
    assert set(trace.kind.tolist()) == {Kind.OPERATOR}
    assert diagnose(see(trace))[0].kind == "dominant_operator"


def test_an_unknown_program_s_events_are_its_functions(tmp_path: Path) -> None:
    events = [span("parse", 1, 1, 0, 700), span("solve", 1, 1, 700, 300)]
    finding = diagnose(see(read_trace(write(tmp_path / "t.json", events))))[0]
    assert (finding.kind, finding.share) == ("dominant_operator", pytest.approx(0.7))
    assert "parse" in finding.evidence[0].text


def test_the_rank_comes_from_the_header(tmp_path: Path) -> None:
    path = write(tmp_path / "t.json", [span("a", 1, 1, 0, 1)], distributedInfo={"rank": 3, "world_size": 8})
    trace = read_trace(path)
    assert (trace.rank, trace.world_size) == (3, 8)


@pytest.mark.parametrize(
    "event",
    [
        {"ph": "X", "name": "a", "ts": "soon", "dur": 1},
        {"ph": "X", "name": "a", "ts": 1, "dur": -5},
        {"ph": "X", "name": "a", "ts": float("nan"), "dur": 1},
        {"ph": "X", "name": "a", "ts": 1, "dur": None, "args": {"correlation": "x"}},
        {"ph": "X", "name": "a", "ts": None, "dur": 1},
    ],
)
def test_events_without_a_usable_time_are_counted_and_left_out(tmp_path: Path, event: Event) -> None:
    good = span("good", 1, 1, 0, 5)
    trace = read_trace(write(tmp_path / "t.json", [good, event, {**good, "ts": 9}]))
    assert trace.num_events == 2
    assert trace.warnings == ("1 events without a usable time or end are left out",)


def test_odd_arguments_do_not_stop_the_reader(tmp_path: Path) -> None:
    odd: list[Event] = [
        {"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 1, "args": {"grid": "x"}},
        {"ph": "X", "cat": "kernel", "name": "k", "ts": 2, "dur": 1, "args": {"grid": [1], "block": []}},
        {"ph": "X", "cat": "cpu_op", "name": "o", "ts": 3, "dur": 1, "args": [1, 2]},
        {"ph": "X", "cat": "cpu_op", "name": "o", "ts": 4, "dur": 1, "args": {"correlation": 2**80}},
        {"ph": "M", "name": "thread_name", "args": None},
        {"ph": "i", "name": "[memory]", "ts": 5, "args": {"Total Allocated": "much"}},
        {"name": "no phase"},
        {"ph": "X", "name": 7, "pid": {}, "tid": [], "ts": 6, "dur": 1},
    ]
    diagnose(see(read_trace(write(tmp_path / "t.json", odd))))
