"""The share of each module: of the counted steps alone, its own operators and its backward pass."""

import json
from pathlib import Path

import pytest

from gantune.profiling.script_layers import share_modules
from gantune.profiling.script_record import StageRecord
from gantune.profiling.trace import read_trace
from trace_writer import event


def test_shares_are_of_the_counted_steps_and_add_up_to_no_more_than_the_window(tmp_path: Path) -> None:
    # A call of 90 of the first 100 µs, which warm the profiler up, and again of the counted ones.
    calls = [(0, 90), (100, 190)]
    events = [event("cpu_op", "aten::conv2d", start, 90) for start, _ in calls]
    events.append(event("user_annotation", "ProfilerStep#0", 100, 100))
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"schemaVersion": 1, "baseTimeNanoseconds": 0, "traceEvents": events}))
    stage = StageRecord(modules=tuple(("Net.layer", a * 1000, b * 1000) for a, b in calls))
    (found,) = share_modules(stage, read_trace(path))
    assert found.name == "Net.layer"
    assert found.share == pytest.approx(0.9)
