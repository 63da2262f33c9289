"""Spans of another observer among a trace's events."""

import json
from pathlib import Path

from gantune.profiling.trace import read_trace
from gantune.profiling.trace.annotate import Span, add_spans
from gantune.profiling.trace.events import Kind
from trace_writer import event, kernel, launch


def test_spans_take_their_place_in_time_and_kernels_keep_their_geometry(tmp_path: Path) -> None:
    events = [
        event("cpu_op", "aten::a", 1000, 50),
        launch(1010, link=3),
        kernel("k", 1030, 20, link=3, grid=[2, 1, 1], block=[64, 1, 1]),
    ]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "baseTimeNanoseconds": 7_000_000, "traceEvents": events}))
    trace = read_trace(path)
    # The first event begins 1000 µs after the base of 7 ms.
    assert trace.origin_ns == 8_000_000
    found = add_spans(trace, [Span("G main", Kind.RANGE, 8_005_000, 8_035_000, "1", "1")])
    row = found.names.index("G main")
    place = found.name.tolist().index(row)
    assert (found.start_us[place], found.duration_us[place]) == (5.0, 30.0)
    assert found.track[place] == found.track[found.name.tolist().index(found.names.index("aten::a"))]
    assert found.start_us.tolist() == [0, 5, 10, 30]
    assert found.names[found.name[found.geometry.row[0]]] == "k"
    assert found.link.tolist() == [0, 0, 3, 3]
