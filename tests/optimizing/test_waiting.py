import pytest

from gantune.backends import BACKENDS
from gantune.optimizing.rules import PROPOSALS
from gantune.optimizing.waiting import WAITS, find_forerunner
from gantune.quality.gate import Budget
from gantune.records.plan import PlannedCandidate

HEAD = "torch-fused-bf16-large"
WAITING = PlannedCandidate(name="torch-fused-fp32", engine="torch", precision="fp32", steps=(), why="a test")


def test_a_candidate_waits_for_one_that_does_the_same_with_less_work() -> None:
    why = find_forerunner(WAITING, [HEAD], goal="latency", budget=Budget())
    assert why.startswith(f"skipped: {HEAD}, which is inside the budget, is the same layers")


def test_it_is_tried_where_that_one_cannot_be_kept() -> None:
    assert find_forerunner(WAITING, ["openvino-bf16"], goal="latency", budget=Budget()) == ""


def test_nobody_waits_where_speed_is_not_the_goal() -> None:
    assert find_forerunner(WAITING, [HEAD], goal="memory", budget=Budget()) == ""


@pytest.mark.parametrize(
    "budget", [Budget(max_frechet_loss=0.1), Budget(max_peak_bytes=10), Budget(max_size_bytes=10)]
)
def test_nobody_waits_where_more_than_images_is_bounded(budget: Budget) -> None:
    assert find_forerunner(WAITING, [HEAD], goal="latency", budget=budget) == ""


def test_all_that_wait_are_planned_after_those_they_wait_for() -> None:
    families = ("stylegan2", "stylegan3", "dcgan", "srvgg")
    names = [plan.name for backend in BACKENDS for family in families for plan in backend.plans(family)]
    for name, (head, _) in WAITS.items():
        assert names.index(head) < names.index(name)
        assert {name, head} <= PROPOSALS.keys()
