"""The kernels that users run touch no number beyond their tensors, on every instruction set.

Sanitizers see more, and only an instrumented build; here the memory behind each tensor, and before it, cannot
be touched.
"""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gantune.ops.native.library import instruction_sets, missing_reason

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(missing_reason() is not None, reason=str(missing_reason())),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mprotect is called as Linux has it"),
]
PROGRAM = Path(__file__).with_name("guarded_calls.py")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(PROGRAM), *arguments], capture_output=True, text=True, timeout=300
    )


@pytest.mark.parametrize("side", ["end", "start"])
@pytest.mark.parametrize("instruction_set", instruction_sets())
def test_no_call_touches_what_is_beyond(instruction_set: str, side: str) -> None:
    child = run(instruction_set, side)
    assert child.returncode == 0, child.stderr[-4000:]
    assert int(child.stdout.split()[0]) > 600


def test_one_number_beyond_ends_the_program() -> None:
    assert run(instruction_sets()[0], "end", "overrun").returncode == -signal.SIGSEGV
