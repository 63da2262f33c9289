"""Which slow tests `.ci/run` adds to the fast ones, Triton's interpreter, and Ctrl-C as tests expect it."""

import os
import signal
from collections.abc import Iterator

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


@pytest.fixture(autouse=True, scope="session")
def _heed_interrupts() -> Iterator[None]:
    """Take Ctrl-C, which tests send: jobs that a shell runs in the background are born ignoring it."""
    before = signal.getsignal(signal.SIGINT)
    if before == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        is_listed = item.path.as_posix().endswith(SLOW_BUT_CHECKED_ALWAYS)
        if is_listed and item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.ci)
