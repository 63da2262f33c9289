"""The kernels load, each instruction set runs, and their absence is one line and no failure."""

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from gantune import ops
from gantune.errors import UnavailableError, UsageError
from gantune.ops.native import library

needs_library = pytest.mark.skipif(
    library.missing_reason() is not None, reason=library.missing_reason() or "the kernels are built"
)


@needs_library
def test_the_generic_instruction_set_runs_everywhere() -> None:
    assert library.instruction_sets()[-1] == "generic"


@needs_library
def test_an_unknown_instruction_set_is_refused_with_the_allowed_ones() -> None:
    with pytest.raises(UsageError, match=r"'sse9' does not run here; allowed: .*generic"):
        library.use_instruction_set("sse9").__enter__()


@needs_library
def test_a_forced_instruction_set_is_restored() -> None:
    before = library._chosen()
    with library.use_instruction_set("generic"):
        assert library._chosen() == library._indices()["generic"]
    assert library._chosen() == before


@needs_library
def test_the_structures_have_the_sizes_that_the_compiler_gives_them() -> None:
    loaded = ctypes.CDLL(str(library.LIBRARY))
    assert ctypes.sizeof(library.FilterRequest) == loaded.gantune_structure_size(0)
    assert ctypes.sizeof(library.PointwiseRequest) == loaded.gantune_structure_size(1)


WITHOUT_LIBRARY = """
import logging, sys
from pathlib import Path
logging.disable(logging.CRITICAL)
exists = Path.exists
Path.exists = lambda path: "libgantune_kernels" not in path.name and exists(path)
import torch
from gantune import ops
from gantune.errors import UnavailableError
x = torch.randn(1, 2, 5, 5)
assert torch.equal(ops.bias_act(x, act="relu"), ops.bias_act(x, act="relu", implementation="portable"))
try:
    ops.bias_act(x, act="relu", implementation="native")
except UnavailableError as error:
    sys.exit(str(error))
"""


def test_without_the_library_the_portable_form_runs_and_native_says_why_in_one_line() -> None:
    child = subprocess.run(
        [sys.executable, "-c", WITHOUT_LIBRARY], capture_output=True, text=True, timeout=120, check=False
    )
    lines = child.stderr.strip().splitlines()
    assert len(lines) == 1, child.stderr
    assert "were not built" in lines[0]
    assert "C++17 compiler" in lines[0]


def test_a_missing_library_is_reported_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "missing_reason", lambda: "the C++ kernels were not built")
    with pytest.raises(UnavailableError, match="not built"):
        library.use_instruction_set("generic").__enter__()


@needs_library
def test_kernels_run_in_a_forked_child() -> None:
    """A child has none of its parent's threads; a pool that forgot so would wait for ever."""
    code = (
        "import os, torch\n"
        "from gantune import ops\n"
        "from gantune.ops.native import library\n"
        "x = torch.randn(4, 8, 40, 40)\n"
        "with library.use_own_threads():\n"
        "    torch.set_num_threads(2)\n"
        "    y = ops.bias_act(x, act='lrelu', implementation='native')\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        os._exit(int(not torch.equal(ops.bias_act(x, act='lrelu', implementation='native'), y)))\n"
        "    assert os.waitpid(child, 0)[1] == 0\n"
    )
    if not hasattr(__import__("os"), "fork"):
        pytest.skip("this system does not fork")
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=120)


@needs_library
@pytest.mark.parametrize("num_threads", [1, 2, 5])
def test_own_threads_compute_what_the_shared_team_computes(num_threads: int) -> None:
    x = torch.randn(2, 37, 23, 29, generator=torch.Generator().manual_seed(0))
    f = ops.setup_filter([1, 3, 3, 1])
    before = torch.get_num_threads()
    torch.set_num_threads(num_threads)
    try:
        shared = ops.upsample2d(x, f, implementation="native")
        with library.use_own_threads():
            own = ops.upsample2d(x, f, implementation="native")
    finally:
        torch.set_num_threads(before)
    assert torch.equal(shared, own)


def test_the_sources_stand_beside_the_loader() -> None:
    names = {path.name for path in Path(library.__file__).parent.glob("*.cpp")}
    assert {"interface.cpp", "kernels_generic.cpp", "kernels_neon.cpp"} <= names
