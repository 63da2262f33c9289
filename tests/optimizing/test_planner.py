from dataclasses import replace

import pytest

from gantune.backends import BACKENDS, Backend
from gantune.errors import UsageError
from gantune.optimizing.planner import decide_plan, plan_candidates
from gantune.optimizing.situation import Situation
from gantune.quality.gate import Budget


def situation(**changes: object) -> Situation:
    values: dict[str, object] = {
        "family": "stylegan2", "target": "cpu", "goal": "latency", "precision": "any",
        "instruction_sets": ("avx2", "avx512_bf16"),
    }  # fmt: skip
    return Situation(**(values | changes))  # type: ignore[arg-type]


def all_here() -> tuple[Backend, ...]:
    return tuple(replace(backend, missing=lambda: None) for backend in BACKENDS)


def proposed(**changes: object) -> set[str]:
    plan = plan_candidates(situation(**changes), all_here())
    return {candidate.name for candidate in plan if not candidate.is_skipped}


def test_every_backend_proposes_something_and_every_line_has_a_reason() -> None:
    plan = plan_candidates(situation(), all_here())
    known = {backend.name for backend in BACKENDS}
    assert {candidate.engine for candidate in plan} >= known
    assert all(candidate.why for candidate in plan)
    tried = {candidate.engine for candidate in plan if not candidate.is_skipped}
    # AOTInductor builds for minutes what torch_compile runs too, so it waits to be asked for.
    assert known - tried == {"aotinductor"}


def test_every_proposal_has_a_sentence_of_its_own() -> None:
    for family in ("stylegan2", "stylegan3", "dcgan", "srvgg", "biggan"):
        plan = plan_candidates(situation(family=family, can_calibrate=True), all_here())
        assert not [line.name for line in plan if line.why == "offered by its backend"]


def test_a_missing_engine_is_proposed_with_the_command_that_installs_it() -> None:
    backends = tuple(replace(backend, missing=lambda: "pip install it") for backend in BACKENDS)
    plan = plan_candidates(situation(), backends)
    assert all(candidate.is_skipped for candidate in plan)
    onnx = next(candidate for candidate in plan if candidate.name == "openvino-fp32")
    assert onnx.why.startswith("proposed")
    assert "not installed: pip install it" in onnx.why


def test_asking_for_fp32_proposes_only_fp32() -> None:
    names = proposed(precision="fp32")
    assert names
    assert all("bf16" not in name for name in names)


def test_bf16_is_not_proposed_without_its_instructions() -> None:
    assert all("bf16" not in name for name in proposed(instruction_sets=("avx2",)))
    assert any("bf16" in name for name in proposed())


def test_only_style_networks_get_constant_weight_modulation() -> None:
    for family, expected in (("stylegan2", True), ("stylegan3", True), ("srvgg", False)):
        plan = plan_candidates(situation(family=family), all_here())
        assert any(step.name == "static_modulation" for line in plan for step in line.steps) is expected


def test_an_unknown_target_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="abacus"):
        situation(target="abacus")


def branch_of(**changes: object) -> tuple[str, dict[str, str], set[str]]:
    """Return the branch, the reason of each line, and the names that are tried."""
    branch, plan, path = decide_plan(situation(can_calibrate=True, **changes), all_here())
    assert path[0].question == "Where will it run?"
    assert all(decision.because for decision in path)
    reasons = {candidate.name: candidate.why for candidate in plan}
    return branch.name, reasons, {candidate.name for candidate in plan if not candidate.is_skipped}


def test_many_platforms_lead_to_onnx() -> None:
    branch, _, tried = branch_of(target="cross-platform")
    assert branch == "cross-platform"
    assert tried == {"onnxruntime-fp32-transposed", "onnxruntime-fp32-subpixel", "onnxruntime-int8"}


def test_openvino_makes_the_same_integers_elsewhere_superfluous() -> None:
    here = {"instruction_sets": ("avx2", "avx512_vnni"), "family": "srvgg"}
    _, reasons, tried = branch_of(engines=("openvino", "onnxruntime"), **here)
    assert "openvino-int8" in tried
    assert "runs the same integers" in reasons["onnxruntime-int8"]
    assert "onnxruntime-int8" in branch_of(engines=("onnxruntime",), **here)[2]


def test_a_form_of_up_sampling_is_left_to_the_loop() -> None:
    _, reasons, tried = branch_of()
    assert "onnxruntime-fp32-transposed" in tried
    assert "the loop tries this form" in reasons["onnxruntime-fp32-subpixel"]


def test_little_memory_leads_to_quantizing_and_pruning() -> None:
    for changes in ({"target": "edge"}, {"goal": "size"}, {"budget": Budget(max_size_bytes=10)}):
        branch, reasons, tried = branch_of(instruction_sets=("avx512_vnni",), **changes)
        assert branch == "constrained"
        assert {"openvino-int8", "onnxruntime-int8"} <= tried
        assert reasons["prune"].startswith("proposed")
        assert "only plain chains" in reasons["prune"]
        assert reasons["litert-int8"].startswith("proposed")
        assert "not installed" in reasons["litert-int8"]


@pytest.mark.parametrize("family", ["dcgan", "srvgg"])
def test_a_chain_is_pruned_and_quantized_where_it_must_shrink(family: str) -> None:
    _, reasons, tried = branch_of(family=family, goal="size", instruction_sets=("avx512_vnni",))
    assert "openvino-pruned-int8" in tried
    assert "prune" not in reasons
    _, reasons, tried = branch_of(family=family, instruction_sets=("avx512_vnni",))
    assert "openvino-pruned-int8" not in tried
    assert "only where memory or size must shrink" in reasons["openvino-pruned-int8"]


def test_nvidia_leads_to_tensorrt_which_is_proposed_but_not_installed() -> None:
    branch, reasons, tried = branch_of(target="nvidia")
    assert branch == "nvidia"
    assert not tried
    for name in ("tensorrt-fp16", "tensorrt-int8"):
        assert reasons[name].startswith("proposed")
        assert "not installed" in reasons[name]


def test_utmost_speed_combines_transforms_precision_engine_and_allocator() -> None:
    branch, plan, _ = decide_plan(situation(can_calibrate=True), all_here())
    assert branch.name == "utmost-speed"
    tried = [candidate for candidate in plan if not candidate.is_skipped]
    kinds = [{step.kind for step in candidate.steps} for candidate in tried]
    assert all({"transform", "engine", "environment"} <= found for found in kinds)
    assert tried[0].precision == "bf16"
    assert {step.name for step in tried[0].steps} >= {
        "freeze",
        "static_modulation",
        "resampling",
        "allocator",
    }


def test_exact_pictures_lead_to_float32_alone() -> None:
    branch, reasons, tried = branch_of(precision="fp32")
    assert branch == "exact"
    assert tried
    assert "--precision fp32 was asked for" in reasons["openvino-bf16"]


def test_integers_are_skipped_without_units_inputs_or_room_in_the_budget() -> None:
    units = ("avx512_bf16", "avx512_vnni")
    _, reasons, tried = branch_of(instruction_sets=units)
    assert "openvino-int8" in tried
    _, reasons, tried = branch_of()
    assert "8-bit products" in reasons["openvino-int8"]
    _, reasons, tried = branch_of(instruction_sets=units, budget=Budget(min_psnr_db=60))
    assert "60 dB" in reasons["openvino-int8"]
    plan = plan_candidates(situation(instruction_sets=units), all_here())
    assert all(line.is_skipped for line in plan if line.precision == "int8")


def test_a_short_search_or_a_large_network_is_not_compiled() -> None:
    _, reasons, _ = branch_of(budget_minutes=2.0)
    assert "--budget-minutes" in reasons["torch-compile-fp32"]
    _, reasons, _ = branch_of(macs=75_000_000_000)
    assert "75 G MACs" in reasons["torch-compile-fp32"]
    _, reasons, _ = branch_of(engines=("torch", "openvino"))
    assert "OpenVINO, which is installed" in reasons["torch-compile-fp32"]
    _, _, tried = branch_of(engines=("torch", "onnxruntime"))
    assert "torch-compile-fp32" in tried


def test_the_branch_orders_its_candidates() -> None:
    plan = plan_candidates(situation(), all_here())
    tried = [candidate.precision for candidate in plan if not candidate.is_skipped]
    assert tried == sorted(tried, key=["bf16", "int8", "fp32"].index)
