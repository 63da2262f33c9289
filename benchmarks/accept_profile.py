"""The figures the profiler is accepted by: verdicts on planted scripts and real traces, costs, gains.

Each part writes a file of its own; `--only` runs one of planted, traces, overhead, size, large, page and
networks. `--megabytes` sets the size of the large trace, `--pairs` how often a step's overhead is taken.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from profile_cost import measure_overhead, measure_trace
from profile_planted import judge_planted
from publish import ROOT, publish
from trace_generator import write_large_trace

from gantune.profiling.network_profile import NetworkProfileOptions, profile_network
from gantune.profiling.run import profile_trace
from gantune.records.figures import Figure

TRACES = ROOT / "tests" / "traces"
VERDICTS = {
    "01": ("data_loading",),
    "02": ("python_overhead", "idle_gpu", "nothing_to_mend"),
    "04": ("nothing_to_mend",),
    "06": ("synchronization",),
    "07": ("launch_bound",),
    "09": ("launch_bound",),
    "10": ("communication",),
    "15": ("allocator",),
    "16": ("memory_layout",),
    "18": ("cold_start",),
    "21": ("dominant_operator",),
    "22": ("cannot_judge_gpu",),
    "23": ("communication",),
}
NETWORKS = {
    "StyleGAN2-32, trained": ROOT / "samples/fashion-mnist-32.safetensors",
    "SRVGG": ROOT / ".cache/real/srvgg-x4-animevideo.param",
}
_CHILD = """
import resource, sys
from pathlib import Path
from gantune.profiling.run import profile_trace
profile_trace(Path(sys.argv[1]), command="", out=Path(sys.argv[2]))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


def judge_traces(_arguments: argparse.Namespace) -> list[Figure]:
    right = sum(
        profile_trace(TRACES / f"trace_{number}.json.gz", command="").findings[0].kind in kinds
        for number, kinds in VERDICTS.items()
    )
    return [
        Figure(
            name="real traces whose first finding is the expert's",
            value=right,
            unit=f"of {len(VERDICTS)}",
            bar=f"{len(VERDICTS)}",
            met=right == len(VERDICTS),
            how="findings[0].kind of tests/traces",
        )
    ]


def read_large(arguments: argparse.Namespace) -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.json"
        num_events = write_large_trace(path, arguments.megabytes * 10**6)
        start = time.monotonic()
        command = [sys.executable, "-c", _CHILD, str(path), str(Path(folder) / "out")]
        answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        seconds = time.monotonic() - start
        written = (Path(folder) / "out" / "trace.json.gz").stat().st_size
    peak = int(answer) / 10**9
    scale = arguments.megabytes / 1000
    how = f"a generated trace of {arguments.megabytes} MB, {num_events:,} events, all views written"
    return [
        Figure(
            name="peak memory for a 1 GB trace", value=peak, unit="GB", bar="< 1 GB", met=peak < 1, how=how
        ),
        Figure(
            name="time for a 1 GB trace",
            value=seconds,
            unit="s",
            bar="< 600 s",
            met=seconds < 600 * scale,
            how=how,
        ),
        Figure(
            name="size of the written trace",
            value=written / 10**6,
            unit="MB",
            bar="< 50 MB",
            met=written < 50 * 10**6,
            how=how,
        ),
    ]


def draw_page(_arguments: argparse.Namespace) -> list[Figure]:
    test = "test_zooming_through_100_000_events_takes_at_most_50_ms_a_frame"
    command = [sys.executable, "-m", "pytest", "-q", "-m", "slow", "tests/reporting/test_profile_page.py"]
    done = subprocess.run([*command, "-k", test, "-rs"], cwd=ROOT, capture_output=True, text=True)
    is_met = done.returncode == 0 and "1 passed" in done.stdout
    return [
        Figure(
            name="median frame while zooming through 100,000 events at most 50 ms",
            value=1.0 if is_met else 0.0,
            unit="yes" if is_met else "no",
            bar="yes",
            met=is_met,
            how=f"{test} in headless Chromium",
        )
    ]


def measure_networks(_arguments: argparse.Namespace) -> list[Figure]:
    rows = []
    for name, path in NETWORKS.items():
        if not path.exists():
            print(f"skipped {name}: {path} is absent; make real writes it")
            continue
        profile, _ = profile_network(path, NetworkProfileOptions(threads=2, num_rounds=5), command="")
        tried = [finding for finding in profile.findings if finding.measured_gain and finding.expected_gain]
        for finding in tried:
            assert finding.measured_gain is not None
            assert finding.expected_gain is not None
            ratio = finding.expected_gain.high / finding.measured_gain.median
            is_top = finding is profile.findings[0]
            rows.append(
                Figure(
                    name=f"{name}: {finding.kind}, expected over measured gain",
                    value=ratio,
                    unit="",
                    low=finding.expected_gain.high / finding.measured_gain.high,
                    high=finding.expected_gain.high / finding.measured_gain.low,
                    bar="0.7 to 1.3" if is_top else None,
                    met=0.7 <= ratio <= 1.3 if is_top else None,
                    how=f"measured {finding.measured_gain.median:.2f}× in interleaved rounds, 2 threads",
                )
            )
    return rows


PARTS: dict[str, Callable[[argparse.Namespace], list[Figure]]] = {
    "planted": lambda arguments: judge_planted(arguments.match),
    "traces": judge_traces,
    "overhead": lambda arguments: measure_overhead(arguments.pairs),
    "size": lambda _arguments: measure_trace(),
    "large": read_large,
    "page": draw_page,
    "networks": measure_networks,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PARTS, action="append")
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--match", default="", help="a pattern for the names of planted cases")
    parser.add_argument("--pairs", type=int, default=5)
    arguments = parser.parse_args()
    names = arguments.only or list(PARTS)
    return max([publish(f"accept-profile-{name}", PARTS[name](arguments)) for name in names])


if __name__ == "__main__":
    sys.exit(main())
