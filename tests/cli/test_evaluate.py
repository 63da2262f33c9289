import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from gantune.cli.app import build_app
from gantune.errors import QualityError

RUNNER = CliRunner()


@pytest.fixture
def folders(tmp_path: Path) -> tuple[str, str]:
    for name, step in (("old", 1), ("new", 4)):
        (tmp_path / name).mkdir()
        for index in range(6):
            pixels = np.random.default_rng(index).integers(0, 256, (16, 16, 3), dtype=np.uint8)
            Image.fromarray(pixels // step * step).save(tmp_path / name / f"{index}.png")
    return str(tmp_path / "new"), str(tmp_path / "old")


def test_json_is_one_document_with_an_identity_for_every_score(folders: tuple[str, str]) -> None:
    result = RUNNER.invoke(
        build_app(), ["evaluate", folders[0], "--against", folders[1], "--metric", "paired", "--json"]
    )
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["scores"]["psnr_db"]["identity"]["num_images"] == 6
    assert all(score["identity"]["features"] for score in document["scores"].values())


def test_the_tables_name_score_interval_and_band(folders: tuple[str, str]) -> None:
    result = RUNNER.invoke(
        build_app(), ["evaluate", folders[0], "--against", folders[1], "--metric", "paired"]
    )
    assert result.exit_code == 0, result.output
    for word in ("psnr_db", "95 % interval", "cycles/pixel", "pixels"):
        assert word in result.stdout


def test_a_requirement_that_is_not_met_is_exit_code_seven(folders: tuple[str, str]) -> None:
    command = ["evaluate", folders[0], "--against", folders[1], "--metric", "paired"]
    assert RUNNER.invoke(build_app(), [*command, "--require", "min_psnr_db=10"]).exit_code == 0
    refused = RUNNER.invoke(build_app(), [*command, "--require", "min_psnr_db=90"])
    assert isinstance(refused.exception, QualityError)
    assert refused.exception.exit_code == 7
    assert "psnr_db" in refused.stdout
