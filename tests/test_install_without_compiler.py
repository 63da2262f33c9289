"""gantune installs where there is no C++ compiler: portable forms run, and doctor says why."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROGRAM = """
import torch
from gantune import ops
x = torch.arange(16.0).reshape(1, 1, 4, 4)
found = ops.upfirdn2d(x, torch.ones(2), down=2)
assert torch.equal(found, torch.nn.functional.avg_pool2d(x, 2) * 4), found
"""


def run(command: list[str], environment: dict[str, str], folder: Path) -> str:
    child = subprocess.run(
        command, env=os.environ | environment, cwd=folder, capture_output=True, text=True, timeout=280
    )
    assert child.returncode == 0, child.stdout[-3000:] + child.stderr[-3000:]
    return child.stdout


@pytest.mark.slow
@pytest.mark.ci
@pytest.mark.timeout(300)
def test_gantune_installs_and_runs_without_a_compiler(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "site"
    shutil.copytree(
        ROOT / "src", source / "src", ignore=shutil.ignore_patterns("*.so", "*.egg-info", "__pycache__")
    )
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, source / name)
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--no-build-isolation",
    ]

    run([*pip, "--target", str(target), str(source)], {"CC": "false", "CXX": "false"}, tmp_path)

    assert not list(target.rglob("libgantune_kernels.*"))
    environment = {"PYTHONPATH": str(target)}
    run([sys.executable, "-c", PROGRAM], environment, tmp_path)
    said = run([sys.executable, "-m", "gantune", "doctor"], environment | {"COLUMNS": "200"}, tmp_path)
    line = next(line for line in said.splitlines() if "upfirdn2d" in line and "native" in line)
    assert "kernels" in line
    assert "available" not in line.split("native", 1)[1]
