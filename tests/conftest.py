"""Which slow tests `.ci/run` adds to the fast ones, and that Triton's kernels run in its interpreter."""

import os

import pytest

# Read when triton is imported. Tests hold kernels to the CPU; scripts/gpu_checks.sh runs them on a GPU.
os.environ.setdefault("TRITON_INTERPRET", "1")

SLOW_BUT_CHECKED_ALWAYS = (
    "backends/test_backends.py",
    "exporting/test_onnx_export.py",
    "measuring/test_process.py",
    "ops/test_choose.py",
    "runtime/test_torch_program.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        is_listed = item.path.as_posix().endswith(SLOW_BUT_CHECKED_ALWAYS)
        if is_listed and item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.ci)
