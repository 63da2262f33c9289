import pytest

from gantune.errors import UsageError
from gantune.optimizing.planner import Situation, plan_candidates

ALL_ENGINES = {"openvino": "", "onnxruntime": "", "torch": "", "torch_compile": ""}


def situation(**changes: object) -> Situation:
    values: dict[str, object] = {
        "family": "stylegan2", "target": "cpu", "goal": "latency", "precision": "any",
        "engines": ALL_ENGINES, "has_bf16_instructions": True,
    }  # fmt: skip
    return Situation(**(values | changes))  # type: ignore[arg-type]


def proposed(**changes: object) -> set[str]:
    return {candidate.name for candidate in plan_candidates(situation(**changes)) if not candidate.is_skipped}


def test_every_skipped_candidate_says_why() -> None:
    plan = plan_candidates(
        situation(engines=ALL_ENGINES | {"openvino": "pip install openvino"}, precision="fp32")
    )
    skipped = {candidate.name: candidate.why for candidate in plan if candidate.is_skipped}
    assert "pip install openvino" in skipped["openvino-fp32"]
    assert "--precision fp32" in skipped["torch-bf16"]


def test_asking_for_fp32_proposes_only_fp32() -> None:
    names = proposed(precision="fp32")
    assert names
    assert all("bf16" not in name for name in names)


def test_bf16_is_not_proposed_without_its_instructions() -> None:
    assert all("bf16" not in name for name in proposed(has_bf16_instructions=False))


def test_only_style_networks_get_constant_weight_modulation() -> None:
    for family, expected in (("stylegan2", True), ("stylegan3", True), ("srvgg", False)):
        names = {
            step.name
            for candidate in plan_candidates(situation(family=family))
            if not candidate.is_skipped
            for step in candidate.steps
        }
        assert ("static_modulation" in names) is expected
        assert ("resampling" in names) is (family == "stylegan2")


def test_an_unknown_target_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="abacus"):
        situation(target="abacus")
