"""Every kernel compiles for GPUs that are not here, fits their shared memory and spills few registers."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "triton_compilation.py"
# Compute capability, multiprocessors, shared memory of a program: H100, A100, and RTX 30 cards (the least).
DEVICES = {
    "H100": ("90", "132", "232448"),
    "A100": ("80", "108", "166912"),
    "RTX 3090": ("86", "82", "101376"),
}
# The gradient of the layer that rises four times (24 taps) spills 1.2 to 1.4 KB a thread in the tile that an
# H100 has the memory for. Tiles of half the size spill nothing, but use 3 of 32 samples an axis instead of 11
# of 64; which is faster is for a GPU to say.
OPEN = pytest.mark.xfail(strict=True, reason="gradients of 24 taps spill registers in an H100's tiles")
RUNS = [
    pytest.param("H100", "float32", marks=OPEN),
    pytest.param("H100", "float16", marks=OPEN),
    ("A100", "bfloat16"),
    pytest.param("RTX 3090", "float32", marks=pytest.mark.ci),
]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("device", "dtype"), RUNS)
def test_official_layers_compile_and_fit_a_device_that_is_not_here(
    device: str, dtype: str, tmp_path: Path
) -> None:
    environment = os.environ | {"TRITON_INTERPRET": "0", "TRITON_CACHE_DIR": str(tmp_path)}
    run = subprocess.run(
        [sys.executable, str(SCRIPT), *DEVICES[device], dtype],
        env=environment,
        capture_output=True,
        text=True,
        timeout=850,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    found = json.loads(run.stdout)
    assert {kernel["kernel"] for kernel in found} == {
        "band_kernel",
        "direct_kernel",
        "filtered_lrelu_gradient_kernel",
        "filtered_lrelu_kernel",
        "pointwise_kernel",
    }
    assert not [kernel for kernel in found if kernel["shared_bytes"] > int(DEVICES[device][2])]
    # Three-part products of float32 take all 255 registers: a few more spill, which caches hide.
    assert not [kernel for kernel in found if kernel["spilled_bytes"] > 256]
