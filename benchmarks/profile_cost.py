"""What watching a script costs: its steps outside of the captured window, and the size of its trace."""

import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from profile_planted import name_script

from gantune.measuring.bootstrap import bootstrap_median
from gantune.profiling.launch.launcher import run_watched
from gantune.profiling.launch.options import WatchOptions
from gantune.profiling.run import write_results
from gantune.profiling.script_profile import judge_record
from gantune.profiling.script_record import read_record
from gantune.records.candidate import Interval
from gantune.records.figures import Figure

_LEAD = 8
_WINDOW = 32
_NUM_STEPS = 140
MAX_OVERHEAD = 1.05
# What a user keeps, and what passes through a temporary folder and is deleted once it is read.
MAX_BYTES = {"written": 50_000_000, "passing": 250_000_000}


def measure_overhead(num_pairs: int) -> list[Figure]:
    """Compare a watched script's steps before and after its captured window with the unwatched script's."""
    ratios: dict[str, list[float]] = {"before": [], "after": []}
    for number in range(num_pairs):
        pair = [_time_steps(is_watched=bool((number + place) % 2)) for place in range(2)]
        watched, alone = pair if number % 2 else pair[::-1]
        for name, part in (
            ("before", slice(_LEAD, _LEAD + _WINDOW)),
            ("after", slice(_NUM_STEPS - _WINDOW, _NUM_STEPS)),
        ):
            ratios[name].append(float(np.median(watched[part]) / np.median(alone[part])))
    return [_overhead_figure(name, bootstrap_median(values), num_pairs) for name, values in ratios.items()]


def _time_steps(*, is_watched: bool) -> list[float]:
    """Give the seconds of every step of the healthy plain loop."""
    with tempfile.TemporaryDirectory() as folder:
        times = Path(folder) / "times.json"
        command = [*name_script("plain_loop.py"), "--steps", str(_NUM_STEPS + 1), "--times", str(times)]
        if is_watched:
            options = WatchOptions(folder=Path(), warmup_steps=_LEAD + _WINDOW)
            with run_watched(command, options, is_quiet=True) as watched:
                record = read_record(watched.records[0]).record
            assert record.stage == "captured", record.stage
            assert record.num_steps < _NUM_STEPS - _WINDOW, record.num_steps
        else:
            subprocess.run(command, check=True, capture_output=True)
        return [float(step) for step in np.diff(json.loads(times.read_text()))]


def _overhead_figure(name: str, ratio: Interval, num_pairs: int) -> Figure:
    return Figure(
        name=f"a watched step {name} the captured window",
        value=ratio.median,
        unit="×",
        low=ratio.low,
        high=ratio.high,
        bar=f"≤ {MAX_OVERHEAD}",
        met=ratio.median <= MAX_OVERHEAD,
        how=f"median step of {_WINDOW} against the same steps unwatched, {num_pairs} pairs in turned order",
    )


def measure_trace() -> list[Figure]:
    """Record a script of hundreds of thousands of tiny operators a step."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [*name_script("plain_loop.py"), "--steps", "100000", "--fault", "flood"]
        options = WatchOptions(
            folder=Path(), warmup_steps=1, plain_steps=1, sampled_steps=1, is_stopping=True
        )
        with run_watched(command, options, is_quiet=True) as watched:
            recorded = read_record(watched.records[0])
            found, scene = judge_record(recorded, source="flood", command_line="")
            write_results(found, scene, folder)
        # What the profiler leaves in a temporary folder is read once and deleted.
        sizes = {"passing": recorded.record.trace_bytes}
        sizes["written"] = (folder / "trace.json.gz").stat().st_size
        events = f"{scene.seen.trace.num_events:,} events kept"
    how = f"plain_loop.py --fault flood: 200,000 operators of eight numbers a step; {events}"
    return [
        Figure(
            name=f"size of the {kind} trace of a flood of tiny operators",
            value=size / 1e6,
            unit="MB",
            bar=f"< {MAX_BYTES[kind] // 10**6} MB",
            met=size < MAX_BYTES[kind],
            how=how,
        )
        for kind, size in sizes.items()
    ]
