"""The kernels are right on aarch64, cross-built and run by an emulator."""

import shutil
import subprocess
from pathlib import Path

import pytest

from kernel_harness import compile_kernels, link_harness, setup_tables

# Emulated code is slow.
ROUNDS = "40"
FLAGS = ["-O2", "-static"]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def test_neon_kernels_are_right_under_an_emulator(tmp_path: Path) -> None:
    compiler = shutil.which("aarch64-linux-gnu-g++")
    emulator = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
    if compiler is None or emulator is None:
        pytest.skip("needs aarch64-linux-gnu-g++ and qemu-aarch64 (Debian: g++-aarch64-linux-gnu, qemu-user)")
    common, _, own = setup_tables()
    kernels = compile_kernels(tmp_path, compiler, own | common, FLAGS)
    program = link_harness(tmp_path, compiler, kernels, FLAGS)

    child = subprocess.run([emulator, str(program), ROUNDS], capture_output=True, text=True, timeout=600)

    assert child.returncode == 0, child.stdout + child.stderr[-4000:]
    assert "neon: largest relative difference" in child.stdout
