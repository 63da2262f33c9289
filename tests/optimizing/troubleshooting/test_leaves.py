"""Every leaf of the troubleshooting tree is reached by a case planted for it, through `diagnose`."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from artifact_samples import write_onnx_artifact
from gantune.errors import UsageError
from gantune.machine import describe_machine
from gantune.optimizing.troubleshooting import LEAVES, case, diagnose
from gantune.records.candidate import Interval
from gantune.records.diagnosis import Diagnosis
from gantune.records.interface import InputSpec, OutputSpec
from gantune.records.machine import Machine
from gantune.records.plan import Step
from gantune.records.report import ExtremeCheck, Report
from report_samples import make_report

Plant = Callable[[Path, pytest.MonkeyPatch], Path]
GOLDEN = Path(__file__).parents[2] / "golden"


def healthy() -> Report:
    """Make a report of a run with nothing to complain about, on the machine of this test."""
    report = make_report()
    kept = tuple(one for one in report.candidates if one.status == "kept" and "fp32" in one.name)
    plan = report.plan.model_copy(
        update={
            "threads": describe_machine().num_cores,
            "candidates": tuple(line for line in report.plan.candidates if not line.is_skipped),
        }
    )
    update = {"candidates": kept, "plan": plan, "machine": describe_machine()}
    return report.model_copy(update=update)


def write(folder: Path, report: Report) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "report.json").write_text(report.model_dump_json())
    return folder


def plant(
    *,
    first: dict[str, object] | None = None,
    precision: str = "fp32",
    machine: dict[str, object] | None = None,
    here: dict[str, object] | None = None,
    **changes: object,
) -> Plant:
    """Plant a fault in a healthy run: in its first candidate, in its machine, or in the report itself."""

    def write_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        report = healthy()
        candidate = report.candidates[0].model_copy(update=first or {})
        lines = tuple(
            line.model_copy(update={"precision": precision}) if line.name == candidate.name else line
            for line in report.plan.candidates
        )
        update: dict[str, object] = {
            "candidates": (candidate, *report.candidates[1:]),
            "plan": report.plan.model_copy(update={"candidates": lines}),
            "machine": report.machine.model_copy(update=machine or {}),
        }
        if here is not None:
            known: Machine = describe_machine().model_copy(update=here)
            monkeypatch.setattr(case, "describe_machine", lambda: known)
        return write(folder, report.model_copy(update=update | changes))

    return write_run


def slow(median: float = 1.0, *, faults: float = 0.0, **changes: object) -> dict[str, object]:
    one = healthy().candidates[0]
    assert one.measured is not None
    return {
        "status": "rejected",
        "reason": f"not faster: {median:.2f}×",
        "speedup_tuned": Interval(median=median, low=median - 0.2, high=median + 0.1),
        "measured": one.measured.model_copy(update={"minor_faults": faults}),
        **changes,
    }


def worse(**changes: object) -> dict[str, object]:
    one = healthy().candidates[0]
    assert one.quality is not None
    quality = one.quality.model_copy(update={"psnr_db": 12.0, "is_exact": False})
    return {
        "status": "rejected",
        "reason": "image error 12.0 dB is below 40 dB",
        "quality": quality,
        **changes,
    }


def failed(reason: str) -> dict[str, object]:
    return {"status": "failed", "reason": reason, "quality": None, "measured": None, "speedup_tuned": None}


class Stub(nn.Module):
    family = "stub"
    inputs = (InputSpec(name="z", kind="latent", shape=("N", 4)),)
    output = OutputSpec(channels=1)

    @property
    def config(self) -> dict[str, object]:
        return {}

    def sample_inputs(self, n: int, seed: int) -> dict[str, Tensor]:
        return {"z": torch.zeros(n, 4)}


class NoOnnx(Stub):
    def forward(self, z: Tensor) -> Tensor:
        return torch.linalg.matrix_exp(z.reshape(-1, 1, 2, 2))


class OneSize(Stub):
    def forward(self, z: Tensor) -> Tensor:
        image = z.reshape(-1, 1, 2, 2)
        return image * 2 if int(z.shape[0]) == 2 else image


def checkpoint(network: nn.Module) -> Plant:
    def write_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setattr(case, "load", lambda path: network)
        (folder / "network.pkl").write_bytes(b"")
        return folder / "network.pkl"

    return write_file


def damaged(folder: Path, _: pytest.MonkeyPatch) -> Path:
    whole = (GOLDEN / "stylegan2-uncond-32.pkl").read_bytes()
    (folder / "network.pkl").write_bytes(whole[: len(whole) // 2])
    return folder / "network.pkl"


def not_a_number(folder: Path, _: pytest.MonkeyPatch) -> Path:
    from gantune.checkpoints import load_checkpoint
    from gantune.checkpoints.content import CheckpointContent, NetworkContent
    from gantune.checkpoints.safetensors_file import write_safetensors

    network = load_checkpoint(GOLDEN / "stylegan2-uncond-32.pkl").generator
    state = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    state["synthesis.b8.conv0.weight"].view(-1)[0] = float("nan")
    content = NetworkContent("stylegan2", network.config, state)  # type: ignore[arg-type]
    write_safetensors(CheckpointContent("module", {"generator": content}), folder / "network.safetensors")
    return folder / "network.safetensors"


SKIPPED = (
    healthy()
    .plan.candidates[0]
    .model_copy(
        update={
            "is_skipped": True,
            "name": "tensorrt-fp16",
            "why": "proposed (half precision on tensor cores), but not installed: pip install tensorrt",
        }
    )
)
PRUNED = (Step(kind="transform", name="prune", options={"share": 0.7}),)
NO_UNITS = {"instruction_sets": ("avx2",), "environment": {}}
LAYERS = healthy().layers

PLANTED: dict[tuple[str, str], Plant] = {
    ("conversion failed", "refused file"): damaged,
    ("conversion failed", "broken weights"): not_a_number,
    ("conversion failed", "versions"): plant(
        plan=healthy().plan.model_copy(update={"candidates": (SKIPPED,)})
    ),
    ("conversion failed", "custom operators"): checkpoint(NoOnnx()),
    ("conversion failed", "shapes"): checkpoint(OneSize()),
    ("conversion failed", "integers"): plant(
        first=failed("a.onnx differs from the quantized network in torch by 9 times its rounding noise")
    ),
    ("conversion failed", "process died"): plant(
        first=failed("the process of torch-bf16 died (signal SIGKILL): it wrote nothing")
    ),
    ("not faster", "acceleration"): plant(first=slow(precision_used="fp32"), precision="bf16"),
    ("not faster", "instructions"): plant(first=slow(precision_used="int8"), precision="int8", here=NO_UNITS),
    ("not faster", "threads"): plant(first=slow(), here={"num_cores": 96, "environment": {}}),
    ("not faster", "allocator"): plant(first=slow(faults=2e6)),
    ("not faster", "operators not optimized"): plant(
        first=slow(),
        layers=tuple(layer.model_copy(update={"kind": "GridSample", "share": 0.2}) for layer in LAYERS[:4]),
    ),
    ("not faster", "noise"): plant(first=slow(1.2)),
    ("quality dropped", "bit width"): plant(first=worse(), precision="int8"),
    ("quality dropped", "prune ratio"): plant(first=worse(plan=PRUNED)),
    ("quality dropped", "half precision"): plant(first=worse(), precision="bf16"),
    ("quality dropped", "wrong layer"): plant(first=worse()),
    ("quality dropped", "extreme inputs"): plant(
        extremes=(ExtremeCheck(name="psi 1.5", is_finite=False, psnr_db=None, snr_db=None),)
    ),
    ("quality dropped", "spectrum"): plant(
        first={"quality": make_report().candidates[0].quality.model_copy(update={"spectrum_db": 6.0})}  # type: ignore[union-attr]
    ),
}


def reached(diagnosis: Diagnosis) -> dict[tuple[str, str], str]:
    return {(leaf.symptom, leaf.name): leaf.found for leaf in diagnosis.causes}


def test_every_leaf_has_a_planted_case() -> None:
    assert set(PLANTED) == {(leaf.symptom, leaf.name) for leaf in LEAVES}


@pytest.mark.parametrize("leaf", PLANTED, ids=lambda leaf: "-".join(leaf).replace(" ", "-"))
def test_a_planted_case_reaches_its_leaf(
    leaf: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    diagnosis = diagnose(PLANTED[leaf](tmp_path, monkeypatch))
    assert leaf in reached(diagnosis)
    assert leaf[0] in diagnosis.symptoms
    answers = {(one.symptom, one.name): one.answer for one in diagnosis.leaves}
    assert len(answers[leaf]) > 20


def test_a_healthy_run_reaches_no_leaf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = {"environment": {}}
    diagnosis = diagnose(plant(here=here)(tmp_path, monkeypatch))
    assert reached(diagnosis) == {}
    assert diagnosis.symptoms == ()


def test_a_run_with_a_candidate_that_failed_shows_the_symptom_without_a_known_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    diagnosis = diagnose(plant(first=failed("the moon is full"))(tmp_path, monkeypatch))
    assert "conversion failed" in diagnosis.symptoms
    assert not [leaf for leaf in diagnosis.causes if leaf.symptom == "conversion failed"]


def test_an_artifact_is_loaded_and_judged_by_what_its_engine_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = describe_machine().model_copy(update={"environment": {}})
    monkeypatch.setattr(case, "describe_machine", lambda: known)
    write_onnx_artifact(tmp_path / "good", environment={"threads": None, "allocator": "tuned"})
    assert not diagnose(tmp_path / "good").causes
    write_onnx_artifact(tmp_path / "lost", precision="bf16", environment={"allocator": "default"})
    found = reached(diagnose(tmp_path / "lost"))
    assert "was told bf16" in found["not faster", "acceleration"]
    assert "allocator" in found["not faster", "allocator"]


def test_where_there_is_nothing_to_diagnose_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no checkpoint, artifact or finished run"):
        diagnose(tmp_path)
