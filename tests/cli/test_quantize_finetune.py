import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from finetuning_samples import write_data, write_snapshot

Run = Callable[..., Any]
QUICK = ("--weight-bits", 4, "--activation-bits", 4, "--num-samples", 8, "--rounds", 3, "--min-psnr", 10)


def one_sentence(outcome: Any, code: int, message: str) -> None:
    assert outcome.code == code, outcome.err
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


def test_data_that_is_not_there_is_told(gantune: Run, tmp_path: Path) -> None:
    options = ("--finetune", tmp_path / "none.zip", "--out", tmp_path / "run")
    outcome = gantune("quantize", write_snapshot(tmp_path), *options)
    one_sentence(outcome, 3, "none.zip is neither a folder nor a readable ZIP")
    assert not (tmp_path / "run").exists()


def test_data_of_another_size_is_told(gantune: Run, tmp_path: Path) -> None:
    options = ("--finetune", write_data(tmp_path, size=8), "--out", tmp_path / "run")
    outcome = gantune("quantize", write_snapshot(tmp_path), *options)
    one_sentence(outcome, 2, "the generator makes [1, 16, 16]")
    assert not (tmp_path / "run").exists()


def test_a_file_without_a_discriminator_is_told(gantune: Run, tmp_path: Path) -> None:
    path = write_snapshot(tmp_path, has_discriminator=False)
    outcome = gantune("quantize", path, "--finetune", write_data(tmp_path), "--out", tmp_path / "run")
    one_sentence(outcome, 5, "holds no discriminator")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--finetune-kimg", 0), "kimg of fine-tuning is 0"),
        (("--finetune-rate", -1), "rate of fine-tuning is -1"),
        (("--finetune-discriminator", "none", "--distillation", 0), "nothing to learn from"),
        (("--max-size-mb", 1, "--max-mac-bits", 1), "both bounded"),
        (("--max-size-mb", 1, "--max-latency-ms", 1), "size and latency are both bounded"),
        (("--max-size-mb", 0.00001), "impossible"),
    ],
)
def test_wrong_options_give_one_sentence(
    gantune: Run, tmp_path: Path, options: tuple[object, ...], message: str
) -> None:
    path = write_snapshot(tmp_path)
    data = ("--finetune", write_data(tmp_path), "--out", tmp_path / "run", "--num-samples", 8)
    one_sentence(gantune("quantize", path, *data, *options), 2, message)


@pytest.fixture
def few_floats(monkeypatch: pytest.MonkeyPatch) -> None:
    """Build float candidates of one engine alone: what they are is not the question here."""
    monkeypatch.setattr("gantune.optimizing.quantization_candidates._FLOAT_ENGINES", ("onnxruntime",))


@pytest.mark.slow
@pytest.mark.usefixtures("few_floats")
def test_a_finetuned_candidate_stands_in_the_report(gantune: Run, tmp_path: Path) -> None:
    out = tmp_path / "run"
    tuning = ("--finetune", write_data(tmp_path), "--finetune-kimg", 0.64, "--finetune-rate", 0.005)
    outcome = gantune("quantize", write_snapshot(tmp_path), "--out", out, *QUICK, *tuning, "--json")
    assert outcome.code == 0, outcome.err
    report = json.loads(outcome.out)
    assert report == json.loads((out / "report.json").read_text())
    record = report["finetuning"]
    assert record["stopped"] is None
    assert record["after_db"] > record["before_db"]
    assert (record["num_steps"], record["num_images"]) == (20, 640)
    assert "Fine-tuning took the image error" in report["verdict"]
    candidates = {candidate["name"]: candidate for candidate in report["candidates"]}
    plain, tuned = candidates["openvino-int8"], candidates["openvino-int8-finetuned"]
    assert tuned["integer_macs_share"] == plain["integer_macs_share"] > 0
    assert tuned["quality"]["psnr_db"] > plain["quality"]["psnr_db"]
    page = (out / "report.html").read_text()
    assert 'data-source="finetuning.after_db"' in page
    assert page.count("<svg") == 4


@pytest.mark.slow
@pytest.mark.usefixtures("few_floats")
def test_a_diverging_finetuning_leaves_the_rest_as_it_was(gantune: Run, tmp_path: Path) -> None:
    out = tmp_path / "run"
    tuning = ("--finetune", write_data(tmp_path), "--finetune-kimg", 1.28, "--finetune-rate", 2)
    path = write_snapshot(tmp_path, "dcgan")
    outcome = gantune("quantize", path, "--out", out, *QUICK, *tuning, "--json")
    assert outcome.code == 0, outcome.err
    report = json.loads(outcome.out)
    assert "divergence" in report["finetuning"]["stopped"]
    assert report["finetuning"]["after_db"] is None
    assert "Fine-tuning was stopped after" in report["verdict"]
    names = [candidate["name"] for candidate in report["candidates"]]
    assert "openvino-int8" in names
    assert not any("finetuned" in name for name in names)
    assert "Stopped, and nothing of it is used" in (out / "report.html").read_text()
