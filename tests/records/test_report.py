"""A report and a plan go to JSON and back unchanged, stay frozen, and refuse what they do not know."""

import pytest
from pydantic import ValidationError

from gantune.records.candidate import Baseline, Candidate, Latency, Measurement
from gantune.records.machine import Machine
from gantune.records.plan import Plan, PlannedCandidate, Step
from gantune.records.report import NetworkSummary, Report


@pytest.fixture
def plan() -> Plan:
    step = Step(kind="transform", name="resampling", options={"form": "merged", "taps": 4, "gain": 1.5})
    tried = PlannedCandidate(name="a", engine="openvino", precision="bf16", steps=(step,), why="because")
    return Plan(
        source="g.pkl",
        source_sha256="0" * 64,
        family="stylegan2",
        target="cpu",
        goal="latency",
        seed=0,
        batch=1,
        threads=2,
        image_size=64,
        rounds=15,
        precision="any",
        budget={"min_psnr_db": 40.0},
        candidates=(tried,),
    )


@pytest.fixture
def report(plan: Plan) -> Report:
    measured = Measurement(
        latency_ms=Latency(p50=0.1 + 0.2, p90=1.0, mean=1 / 3, n=15),
        throughput_images_s=3.0,
        peak_bytes=2**40,
        minor_faults=0.5,
        load_ms=1.0,
        first_call_ms=2.0,
    )
    return Report(
        gantune_version="0.1.0",
        created="2026-11-30 11:20 UTC",
        command="gantune optimize g.pkl",
        machine=Machine(
            processor="p",
            architecture="x86_64",
            num_cores=2,
            instruction_sets=("avx2",),
            memory_bytes=1,
            operating_system="Linux",
            c_library="glibc",
            python="3.11",
            allocator="glibc",
            libraries={},
            environment={},
        ),
        network=NetworkSummary(
            source="g.pkl",
            source_sha256="0" * 64,
            format="nvidia",
            family="stylegan2",
            facts={"resolution": 32, "is_ema": True, "note": None},
            num_parameters=1,
            macs=2,
            float32_bytes=4,
        ),
        plan=plan,
        image_error="snr",
        layers=(),
        bottleneck="convolutions",
        baselines={
            "as_is": Baseline(
                name="as_is", description="eager", environment={}, measured=measured, size_bytes=4
            )
        },
        candidates=(
            Candidate(
                name="a", engine="openvino", plan=(), why="because", status="failed", reason="it broke"
            ),
        ),
        best=None,
        verdict="keep the original",
    )


def test_a_report_survives_json(report: Report) -> None:
    assert Report.model_validate_json(report.model_dump_json()) == report


def test_a_plan_survives_json_with_the_kinds_of_its_options(plan: Plan) -> None:
    again = Plan.model_validate_json(plan.model_dump_json())
    assert again == plan
    options = again.candidates[0].steps[0].options
    assert {name: type(value) for name, value in options.items()} == {"form": str, "taps": int, "gain": float}


def test_a_boolean_option_stays_a_boolean() -> None:
    step = Step(kind="engine", name="onnxruntime", options={"arena": True, "threads": 1})
    again = Step.model_validate_json(step.model_dump_json())
    assert again.options["arena"] is True
    assert type(again.options["threads"]) is int


def test_records_are_frozen(report: Report) -> None:
    with pytest.raises(ValidationError, match="frozen"):
        report.verdict = "ten times faster"


def test_another_schema_version_is_refused(report: Report) -> None:
    with pytest.raises(ValidationError, match="schema_version"):
        Report.model_validate({**report.model_dump(), "schema_version": 2})


def test_a_mistyped_key_of_a_plan_is_refused(plan: Plan) -> None:
    with pytest.raises(ValidationError, match="thread"):
        Plan.model_validate({**plan.model_dump(), "thread": 4})
