"""Importing and using the operations needs no compiler, no subprocess and no private part of torch."""

import subprocess
import sys
from pathlib import Path

import pytest

import gantune

CHILD = """
import os, subprocess
def forbidden(*args, **kwargs):
    raise AssertionError(f"a subprocess was started: {args}")
subprocess.Popen.__init__ = forbidden
os.system = os.popen = os.posix_spawn = os.fork = forbidden
import torch
from gantune.ops import bias_act, filtered_lrelu, grid_sample, modulated_conv2d, setup_filter, upfirdn2d
f = setup_filter([1, 3, 3, 1])
x = torch.randn(2, 3, 8, 8, requires_grad=True)
w = torch.randn(3, 3, 3, 3)
def twice(y):
    [first] = torch.autograd.grad((y * y).sum(), x, create_graph=True)
    [second] = torch.autograd.grad((first * first).sum(), x)
    assert second.isfinite().all() and second.any()
twice(upfirdn2d(x, f, up=2, padding=2))
twice(bias_act(x, act="swish"))
twice(filtered_lrelu(x, f, f, up=2, down=2, padding=4))
twice(modulated_conv2d(x, w, x.mean([2, 3]), padding=1, up=2, resample_filter=f))
twice(grid_sample(x, torch.zeros(2, 4, 4, 2)))
print("done")
"""


@pytest.mark.slow
@pytest.mark.ci
def test_operations_import_and_derive_twice_with_no_program_at_hand() -> None:
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", CHILD],
        env={"PATH": ""},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.stdout == "done\n", run.stderr


def test_no_operation_looks_into_private_torch() -> None:
    for path in (Path(gantune.__file__).parent / "ops").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "torch._C" not in text, path
        assert "_jit_get_operation" not in text, path
        assert "torch.utils.cpp_extension" not in text, path
