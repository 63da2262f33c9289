"""What an expert says of traces of real runs, and the figures this rests on."""

from functools import cache
from pathlib import Path

import pytest

from gantune.profiling.scene import Scene, see
from gantune.profiling.summary import summarize
from gantune.profiling.trace import read_trace
from gantune.records.profile import Profile

TRACES = Path(__file__).parents[1] / "traces"
# (steps, milliseconds of the window, device busy, the first finding)
EXPERT = {
    "01": (6, 1049, 0.55, {"data_loading"}),
    "02": (6, 838, 0.70, {"python_overhead", "idle_gpu", "nothing_to_mend"}),
    "04": (5, 394, 0.965, {"nothing_to_mend"}),
    "06": (5, 1074, 0.32, {"synchronization"}),
    "07": (1, 4.43, 0.069, {"launch_bound"}),
    "09": (5, 1738, 0.56, {"launch_bound"}),
    "10": (3, 48.6, 0.93, {"communication"}),
    "15": (0, 3393, 0.106, {"allocator"}),
    "16": (0, 6, 0.89, {"memory_layout"}),
    "18": (0, 43425, 0.0002, {"cold_start"}),
    "21": (0, 479, None, {"dominant_operator"}),
    "22": (1, 75.5, None, {"cannot_judge_gpu"}),
    "23": (1, 210, None, {"communication"}),
}


@cache
def scene_of(number: str) -> Scene:
    return see(read_trace(TRACES / f"trace_{number}.json.gz"))


@cache
def profile_of(number: str) -> Profile:
    return summarize(scene_of(number), source=number, command="")


@pytest.mark.parametrize("number", EXPERT)
def test_the_first_finding_is_the_expert_s(number: str) -> None:
    findings = profile_of(number).findings
    assert findings[0].kind in EXPERT[number][3], [(one.kind, one.share) for one in findings]
    assert findings[0].evidence
    assert findings[0].remedy


@pytest.mark.parametrize("number", EXPERT)
def test_steps_window_and_busy_share_are_the_expert_s(number: str) -> None:
    num_steps, window_ms, busy, _ = EXPERT[number]
    found = profile_of(number)
    assert found.num_steps == num_steps
    assert found.window_ms == pytest.approx(window_ms, rel=0.01)
    device = scene_of(number).device
    if busy is None:
        assert device is None
        return
    assert device is not None
    # The expert's busy share counts kernels alone.
    kernels = scene_of(number).seen.share(device.compute) + scene_of(number).seen.share(
        device.exposed_communication
    )
    assert kernels == pytest.approx(busy, abs=0.01)


@pytest.mark.parametrize("number", EXPERT)
def test_the_parts_of_the_wall_time_add_up_to_the_window(number: str) -> None:
    found = profile_of(number)
    assert sum(part.time_ms for part in found.wall) == pytest.approx(found.window_ms, rel=1e-3)


def test_the_loader_s_share_and_the_launch_advance_are_the_expert_s() -> None:
    pipelines = [profile_of(number).pipeline for number in ("01", "02")]
    assert pipelines[0] is not None
    assert pipelines[1] is not None
    assert pipelines[0].loader_share == pytest.approx(0.396, abs=0.001)
    assert pipelines[1].loader_share == pytest.approx(0.010, abs=0.001)


def test_exposed_communication_is_the_expert_s() -> None:
    for number, share in (("09", 0.206), ("10", 0.64)):
        scene = scene_of(number)
        assert scene.device is not None
        assert scene.seen.share(scene.device.exposed_communication) == pytest.approx(share, abs=0.025)


def test_waiting_copies_and_items_are_named() -> None:
    finding = profile_of("06").findings[0]
    text = " ".join(evidence.text for evidence in finding.evidence)
    assert "945 times" in text
    assert "cudaMemcpyAsync" in finding.evidence[0].events


def test_a_healthy_run_names_its_headroom() -> None:
    finding = profile_of("04").findings[0]
    assert any("mixed precision" in evidence.text for evidence in finding.evidence)


def test_a_source_line_is_given_where_the_trace_has_call_stacks() -> None:
    assert profile_of("01").findings[0].evidence[0].source_line == "resnet50_profiler_api.py:42"


def test_a_host_that_was_not_recorded_is_not_judged() -> None:
    text = " ".join(evidence.text for evidence in profile_of("16").findings[0].evidence)
    assert "host cannot be judged" in text
