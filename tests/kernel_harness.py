"""Build the C++ kernels and `exercise_kernels.cpp` into one program, for sanitizers or another processor."""

import importlib.util
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gantune.ops import native

SETUP = Path(__file__).parents[1] / "setup.py"
SOURCES = Path(native.__file__).parent
HARNESS = Path(__file__).with_name("ops") / "native" / "exercise_kernels.cpp"
Files = dict[str, list[str]]


def setup_tables() -> tuple[Files, Files, Files]:
    """Read setup.py's sources with their flags, without running its setup(): for all, for x86, for ARM."""
    text = SETUP.read_text().split("\nsetup(")[0]
    spec = importlib.util.spec_from_loader("setup_tables", loader=None)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    exec(compile(text, "setup.py", "exec"), module.__dict__)
    return module.SOURCES, module.X86, module.ARM


def compile_kernels(folder: Path, compiler: str, files: Files, flags: list[str]) -> list[Path]:
    """Compile files of the kernels, side by side; return their objects."""

    def compile_one(name: str, own: list[str]) -> Path:
        made = folder / (Path(name).stem + ".o")
        run_compiler(compiler, [*flags, *own, "-c", str(SOURCES / name), "-o", str(made)])
        return made

    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        return list(pool.map(compile_one, files, files.values()))


def link_harness(folder: Path, compiler: str, kernels: list[Path], flags: list[str]) -> Path:
    """Compile the harness and link it with the kernels; skip where the compiler lacks what that takes."""
    harness, program = folder / "exercise_kernels.o", folder / "exercise_kernels"
    run_compiler(compiler, [*flags, "-c", str(HARNESS), "-o", str(harness)])
    link = [compiler, "-pthread", *flags, *map(str, kernels), str(harness), "-o", str(program), "-ldl"]
    result = subprocess.run(link, capture_output=True, text=True, timeout=120)
    if result.returncode != 0:
        pytest.skip(f"{compiler} does not link this: {result.stderr.splitlines()[-1]}")
    return program


def run_compiler(compiler: str, arguments: list[str]) -> None:
    """Compile one file; sanitized templates take minutes on a busy machine."""
    command = [compiler, "-std=c++17", "-Wno-psabi", "-pthread", f"-I{SOURCES}", *arguments]
    subprocess.run(command, check=True, timeout=1500)
