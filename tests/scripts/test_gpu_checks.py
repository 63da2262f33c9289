"""The GPU checks run from end to end without a GPU, tiny, in Triton's interpreter."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "gpu_checks.sh"


@pytest.mark.slow
@pytest.mark.ci
@pytest.mark.timeout(480)
def test_a_dry_run_takes_every_figure_and_meets_every_bound(tmp_path: Path) -> None:
    run = subprocess.run(
        [str(SCRIPT), "--dry", "--out", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=470,
        env={**os.environ, "PYTHON": sys.executable},
    )
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    rows = json.loads((tmp_path / "gpu-checks-dry.json").read_text())["rows"]
    names = [row["name"] for row in rows]
    for wanted in ("copy bandwidth", "StyleGAN2-256 training step: triton", "stylegan3-t-256: triton"):
        assert wanted in names
    assert not [row["name"] for row in rows if row["met"] is False]
    bounds = [row for row in rows if row["unit"] == "relative"]
    assert len(bounds) == 7
    assert all(row["met"] for row in bounds)
