from pathlib import Path

import pytest

from artifact_samples import write_onnx_artifact
from gantune.optimizing.build import BuildResult
from gantune.optimizing.shared_builds import SharedBuilds
from gantune.records.plan import PlannedCandidate, Step
from gantune.runtime import read_artifact

FREEZE = Step(kind="transform", name="freeze")
TUNED = Step(kind="environment", name="allocator", options={"tuned": True})
ONE_THREAD = Step(kind="environment", name="threads", options={"count": 1})


def candidate(engine: str, precision: str, *steps: Step) -> PlannedCandidate:
    return PlannedCandidate(
        name=f"{engine}-{precision}", engine=engine, precision=precision, steps=(FREEZE, *steps), why="a test"
    )  # type: ignore[arg-type]


def integers(engine: str, rest: str) -> PlannedCandidate:
    return candidate(
        engine, "int8", Step(kind="quantize", name="static", options={"rest_precision": rest}), TUNED
    )


def share(tmp_path: Path, first: PlannedCandidate, second: PlannedCandidate) -> BuildResult | None:
    write_onnx_artifact(tmp_path / "first")
    shared = SharedBuilds()
    built = BuildResult(name=first.name, status="built", note="one layer is float", size_bytes=7)
    shared.remember(built, first, tmp_path / "first")
    return shared.reuse(second, tmp_path / "second", threads=2)


def test_one_graph_serves_every_engine_and_precision_that_reads_it(tmp_path: Path) -> None:
    first = candidate("openvino", "bf16", TUNED)
    found = share(tmp_path, first, candidate("onnxruntime", "fp32", ONE_THREAD))
    assert found is not None
    assert (found.name, found.note, found.size_bytes) == ("onnxruntime-fp32", "one layer is float", 7)
    artifact, before = read_artifact(tmp_path / "second"), read_artifact(tmp_path / "first")
    assert artifact.files == before.files
    assert (artifact.engine, artifact.precision) == ("onnxruntime", "fp32")
    assert (artifact.environment.threads, artifact.environment.allocator) == (1, "default")


def test_integers_share_a_graph_whatever_the_rest_runs_in(tmp_path: Path) -> None:
    assert share(tmp_path, integers("openvino", "bf16"), integers("openvino", "fp32")) is not None
    assert read_artifact(tmp_path / "second").options == {"rest_precision": "fp32"}
    assert read_artifact(tmp_path / "second").precision == "int8"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (integers("openvino", "bf16"), integers("onnxruntime", "fp32")),
        (integers("openvino", "fp32"), candidate("openvino", "fp32")),
        (candidate("torch", "fp32"), candidate("torch", "bf16")),
        (candidate("torch", "fp32"), candidate("torch_compile", "fp32")),
        (
            candidate("openvino", "fp32"),
            candidate(
                "openvino", "fp32", Step(kind="transform", name="resampling", options={"form": "subpixel"})
            ),
        ),
    ],
)
def test_what_the_files_follow_from_is_never_shared(
    tmp_path: Path, first: PlannedCandidate, second: PlannedCandidate
) -> None:
    assert share(tmp_path, first, second) is None
    assert not (tmp_path / "second").exists()


def test_a_build_that_failed_or_is_gone_is_not_used(tmp_path: Path) -> None:
    shared = SharedBuilds()
    planned = candidate("openvino", "fp32")
    shared.remember(BuildResult(name="a", status="failed"), planned, tmp_path)
    assert shared.reuse(planned, tmp_path / "second", threads=1) is None
    shared.remember(BuildResult(name="a", status="built"), planned, tmp_path / "nowhere")
    assert shared.reuse(planned, tmp_path / "second", threads=1) is None
