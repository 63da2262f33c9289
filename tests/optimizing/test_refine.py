from collections.abc import Mapping

import pytest

from gantune.optimizing.refine import ChangeTrial, Refinement, Workshop, name_reached_goal, refine
from gantune.quality.gate import Budget
from gantune.records.candidate import Interval, Latency, Measurement
from gantune.records.plan import PlannedCandidate, Step

LEADER = PlannedCandidate(
    name="openvino-bf16",
    engine="openvino",
    precision="bf16",
    steps=(
        Step(kind="transform", name="freeze"),
        Step(kind="transform", name="resampling", options={"form": "transposed"}),
        Step(kind="engine", name="openvino"),
        Step(kind="environment", name="allocator", options={"tuned": True}),
    ),
    why="",
)


def measured(p50_ms: float) -> Measurement:
    return Measurement(
        latency_ms=Latency(p50=p50_ms, p90=p50_ms, mean=p50_ms, n=9),
        throughput_images_s=1000 / p50_ms,
        peak_bytes=100,
        minor_faults=0,
        load_ms=1,
        first_call_ms=1,
    )


def run(
    gains: Mapping[str, float],
    *,
    budget: Budget | None = None,
    is_late: bool = False,
    known: tuple[PlannedCandidate, ...] = (),
) -> Refinement:
    """Refine with made-up gains: a change is known by the last part of the candidate's name, else 1.0."""

    def try_change(leader: PlannedCandidate, changed: PlannedCandidate) -> ChangeTrial:
        gain = gains.get(changed.name.rsplit("+", 1)[1], 1.0)
        if gain < 0:
            return ChangeTrial(None, None, "image error 10.0 dB is below 40 dB")
        return ChangeTrial(Interval(median=gain, low=gain - 0.01, high=gain + 0.01), measured(10 / gain))

    workshop = Workshop(try_change, lambda planned: f"profile of {planned.name}", lambda: is_late)
    return refine(
        LEADER, measured(10), workshop, threads=2, goal="latency", budget=budget or Budget(), known=known
    )


def test_changes_that_gain_are_kept_on_top_of_each_other() -> None:
    found = run({"subpixel": 1.2, "half-threads": 1.1})
    assert found.leader.name == "openvino-bf16+subpixel+half-threads"
    assert {"count": 1} in [step.options for step in found.leader.steps]
    assert {"form": "subpixel"} in [step.options for step in found.leader.steps]


def test_the_bottleneck_is_named_before_and_after_a_kept_change() -> None:
    change = run({"subpixel": 1.2}).changes[0]
    assert change.is_kept
    assert change.bottleneck_before == "profile of openvino-bf16"
    assert change.bottleneck_after == "profile of openvino-bf16+subpixel"


def test_two_small_gains_in_a_row_end_the_loop() -> None:
    found = run({"subpixel": 1.019, "merged": 1.0, "half-threads": 3.0})
    assert found.leader == LEADER
    assert [change.name for change in found.changes] == ["subpixel", "merged"]
    assert "2 changes in a row gained under 2 %" in found.end


def test_a_kept_change_starts_the_count_again() -> None:
    found = run({"subpixel": 1.0, "merged": 1.3, "half-threads": 1.0})
    assert [change.is_kept for change in found.changes] == [False, True, False, False]
    assert found.leader.name == "openvino-bf16+merged"


def test_a_gain_that_may_be_noise_is_undone() -> None:
    found = run({"subpixel": 1.005})
    assert not found.changes[0].is_kept
    assert "undone" in found.changes[0].reason


def test_a_change_outside_the_budget_is_undone_with_the_bound() -> None:
    found = run({"subpixel": -1})
    assert found.changes[0].gain is None
    assert "below 40 dB" in found.changes[0].reason


def test_a_reached_goal_or_the_clock_ends_the_loop_before_the_next_change() -> None:
    reached = run({"subpixel": 2.0, "half-threads": 2.0}, budget=Budget(max_latency_ms=6))
    assert [change.name for change in reached.changes] == ["subpixel"]
    assert "the goal is reached: 5 ms of 6 ms" in reached.end
    late = run({}, is_late=True)
    assert not late.changes
    assert "time budget" in late.end


def test_what_was_tried_under_another_name_is_not_tried_again() -> None:
    steps = tuple(
        Step(kind="transform", name="resampling", options={"form": "subpixel"})
        if step.name == "resampling"
        else step
        for step in LEADER.steps
    )
    known = LEADER.model_copy(update={"name": "another name", "steps": steps})
    assert [change.name for change in run({}, known=(known,)).changes] == ["merged", "half-threads"]


@pytest.mark.parametrize(("peak", "is_reached"), [(100, True), (99, False)])
def test_memory_has_its_own_goal(peak: int, is_reached: bool) -> None:
    budget = Budget(max_peak_bytes=peak)
    assert bool(name_reached_goal(measured(1), goal="memory", budget=budget)) is is_reached
    assert not name_reached_goal(measured(1), goal="latency", budget=budget)
