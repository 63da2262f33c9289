"""The kernels are right on aarch64, cross-built and run by an emulator."""

import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest

from gantune.ops import native

ROOT = Path(__file__).parents[3]
SOURCES = Path(native.__file__).parent
# Instrumented or emulated code is slow.
ROUNDS = "40"
HARNESS = Path(__file__).with_name("exercise_kernels.cpp")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def build(folder: Path, compiler: str, files: dict[str, list[str]], flags: list[str]) -> Path:
    """Compile the kernels and the harness into one program; skip where the compiler lacks what that takes."""
    objects = []
    for name, own in {**files, str(HARNESS): []}.items():
        objects.append(folder / (Path(name).stem + ".o"))
        command = [compiler, "-std=c++17", "-Wno-psabi", "-pthread", f"-I{SOURCES}", *flags, *own]
        path = name if name == str(HARNESS) else str(SOURCES / name)
        subprocess.run([*command, "-c", path, "-o", str(objects[-1])], check=True, timeout=600)
    program = folder / "exercise_kernels"
    link = [compiler, "-pthread", *flags, *map(str, objects), "-o", str(program), "-ldl"]
    result = subprocess.run(link, capture_output=True, text=True, timeout=120)
    if result.returncode != 0:
        pytest.skip(f"{compiler} does not link this: {result.stderr.splitlines()[-1]}")
    return program


def setup_tables() -> tuple[dict[str, list[str]], dict[str, list[str]], dict[str, list[str]]]:
    """Read the lists of sources and flags from setup.py, without running its setup()."""
    text = (ROOT / "setup.py").read_text().split("\nsetup(")[0]
    spec = importlib.util.spec_from_loader("setup_tables", loader=None)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    exec(compile(text, "setup.py", "exec"), module.__dict__)
    return module.SOURCES, module.X86, module.ARM


def test_neon_kernels_are_right_under_an_emulator(tmp_path: Path) -> None:
    compiler = shutil.which("aarch64-linux-gnu-g++")
    emulator = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
    if compiler is None or emulator is None:
        pytest.skip("needs aarch64-linux-gnu-g++ and qemu-aarch64 (Debian: g++-aarch64-linux-gnu, qemu-user)")
    common, _, own = setup_tables()
    program = build(tmp_path, compiler, own | common, ["-O2", "-static"])

    child = subprocess.run([emulator, str(program), ROUNDS], capture_output=True, text=True, timeout=600)

    assert child.returncode == 0, child.stdout + child.stderr[-4000:]
    assert "neon: largest relative difference" in child.stdout
