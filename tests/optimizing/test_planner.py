from dataclasses import replace

import pytest

from gantune.backends import BACKENDS, Backend
from gantune.errors import UsageError
from gantune.optimizing.planner import Situation, plan_candidates


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
    assert {candidate.engine for candidate in plan} == {backend.name for backend in BACKENDS}
    assert all(candidate.why for candidate in plan)
    # AOTInductor builds for minutes what torch_compile runs too, so it waits to be asked for.
    assert {candidate.engine for candidate in plan if candidate.is_skipped} == {"aotinductor"}


def test_a_missing_engine_is_skipped_with_the_command_that_installs_it() -> None:
    backends = tuple(replace(backend, missing=lambda: "pip install it") for backend in BACKENDS)
    plan = plan_candidates(situation(), backends)
    assert all(candidate.is_skipped for candidate in plan)
    assert {candidate.why for candidate in plan} == {"skipped: pip install it"}


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
