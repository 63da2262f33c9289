"""The kernels are clean under AddressSanitizer and UndefinedBehaviorSanitizer.

The generic instruction set stands for all: every set is compiled from the same templates. It is one file,
unoptimized, since instrumenting what is inlined into it takes a compiler more than a minute.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

from kernel_harness import compile_kernels, link_harness, setup_tables

# Instrumented code is slow.
ROUNDS = "40"
FLAGS = [
    *("-O0", "-g0", "-DGANTUNE_GENERIC_ALONE"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def compiler() -> str:
    found = shutil.which("g++") or shutil.which("clang++")
    if found is None:
        pytest.skip("no C++ compiler here")
    return found


@pytest.fixture(scope="module")
def kernels(compiler: str, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    common, _, _ = setup_tables()
    return compile_kernels(tmp_path_factory.mktemp("kernels"), compiler, common, FLAGS)


def exercise(
    folder: Path, compiler: str, kernels: list[Path], flags: list[str]
) -> subprocess.CompletedProcess[str]:
    program = link_harness(folder, compiler, kernels, flags)
    return subprocess.run([str(program), ROUNDS], capture_output=True, text=True, timeout=600)


def test_no_kernel_steps_beyond_its_memory(tmp_path: Path, compiler: str, kernels: list[Path]) -> None:
    child = exercise(tmp_path, compiler, kernels, FLAGS)
    assert child.returncode == 0, child.stdout + child.stderr[-4000:]
    assert "generic: largest relative difference" in child.stdout


def test_a_step_of_one_number_beyond_is_noticed(tmp_path: Path, compiler: str, kernels: list[Path]) -> None:
    child = exercise(tmp_path, compiler, kernels, [*FLAGS, "-DPLANTED_OVERRUN=1"])
    assert child.returncode != 0
    assert "heap-buffer-overflow" in child.stderr
