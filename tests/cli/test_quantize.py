import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gantune import runtime
from gantune.checkpoints.content import CheckpointContent, NetworkContent
from gantune.checkpoints.safetensors_file import write_safetensors
from gantune.networks.catalogue import build_network

Run = Callable[..., Any]
CONFIG = {"num_feat": 16, "num_conv": 3, "upscale": 2}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    state = dict(build_network("srvgg", CONFIG).state_dict())
    path = tmp_path_factory.mktemp("quantize") / "srvgg.safetensors"
    write_safetensors(CheckpointContent("test", {"generator": NetworkContent("srvgg", CONFIG, state)}), path)
    return path


WRONG_USE = {
    "too few samples": (("--num-samples", 3), 2, "3 calibration samples are too few"),
    "impossible budget": (("--min-psnr", 200), 2, "an impossible budget"),
    "impossible bits": (("--weight-bits", 9), 2, "9 bits was asked for; the bits must be one of: 1, 2"),
    "bits that are no numbers": (("--analyze", "--bits", "8;4"), 2, "separated by commas"),
    "bits that do not exist": (("--analyze", "--bits", "12"), 2, "12 bits was asked for"),
    "no folder": ((), 2, "--out names the folder"),
}


@pytest.mark.parametrize("name", WRONG_USE)
def test_wrong_use_gives_one_sentence(gantune: Run, checkpoint: Path, name: str, tmp_path: Path) -> None:
    arguments, code, message = WRONG_USE[name]
    where = () if name == "no folder" else ("--out", tmp_path / "run")
    outcome = gantune("quantize", checkpoint, *where, "--image-size", 16, *arguments)
    assert outcome.code == code
    assert message in outcome.err
    assert outcome.err.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_pictures_are_not_both_calibration_and_test(gantune: Run, checkpoint: Path, tmp_path: Path) -> None:
    options = ("--calibration", tmp_path, "--samples", tmp_path, "--out", tmp_path / "run")
    outcome = gantune("quantize", checkpoint, *options)
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert "the two must differ" in outcome.err


def test_a_taken_folder_is_left_alone(gantune: Run, checkpoint: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    outcome = gantune("quantize", checkpoint, "--out", tmp_path)
    assert outcome.code == 9
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_analyze_writes_a_picture_and_a_table(gantune: Run, checkpoint: Path, tmp_path: Path) -> None:
    options = ("--analyze", "--bits", "8,2", "--num-samples", 8, "--image-size", 16, "--json")
    outcome = gantune("quantize", checkpoint, *options, "--out", tmp_path / "run")
    assert outcome.code == 0, outcome.err
    table = json.loads(outcome.out)
    assert table == json.loads((tmp_path / "run" / "report.json").read_text())
    layers = {row["layer"] for row in table["rows"]}
    assert len(layers) == 5
    assert len(table["rows"]) == len(layers) * 2 * 2
    page = (tmp_path / "run" / "report.html").read_text()
    assert page.count("<svg") == 2
    assert all(f'data-source="rows.{index}.ssim"' in page for index in range(len(table["rows"])))


@pytest.mark.slow
def test_a_run_leaves_artifact_and_report_that_agree(gantune: Run, checkpoint: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    options = ("--num-samples", 8, "--image-size", 16, "--rounds", 3, "--min-psnr", 30)
    outcome = gantune("quantize", checkpoint, "--out", out, *options, "--json")
    assert outcome.code == 0, outcome.err
    report = json.loads(outcome.out)
    assert report == json.loads((out / "report.json").read_text())
    assert sorted(path.name for path in out.iterdir()) == ["artifact", "report.html", "report.json"]
    candidates = {candidate["name"]: candidate for candidate in report["candidates"]}
    integers = [name for name in candidates if "int8" in name]
    assert integers
    assert report["kept"] in candidates
    assert report["is_int8_kept"] == (report["kept"] in integers)
    for name in integers:
        # The three inner convolutions of five: 16·16 of their 9·(3·16 + 3·16·16 + 16·12) weights.
        assert candidates[name]["integer_macs_share"] == pytest.approx(768 / (48 + 768 + 192))
        assert 30 <= candidates[name]["quality"]["psnr_db"] < 100
    ran = {layer["name"]: layer["executed"] for layer in report["layers"]}
    assert [name for name, precision in ran.items() if precision == "int8"] == ["body.2", "body.4", "body.6"]
    images = runtime.load(out / "artifact")(image=np.zeros((1, 3, 20, 16), np.float32))
    assert images.shape == (1, 3, 40, 32)
    assert 'data-source="candidates.0.latency_ms.p50"' in (out / "report.html").read_text()
