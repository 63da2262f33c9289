"""Compare a QDQ file with the quantized network in torch on the same inputs."""

from pathlib import Path

import numpy as np
import onnxruntime
import torch
from numpy.typing import NDArray
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidGraph

from gantune.errors import ExportError
from gantune.exporting.paired_check import PairedCheck
from gantune.exporting.traced import TracedNetwork
from gantune.runtime.sampling import draw_inputs
from gantune.transforms.quantize import rounding_off

_BATCHES = (1, 3)
_SEED = 20
_EXACT = 1e-4
# Sums in another order move single values over the edge between two integers, and the step travels on
# through the layers: two right programs differ by up to their rounding noise. A wrong scale, axis or zero
# point is off by far more.
_NOISE_ALLOWED = 2.0


def check_against_rounded_torch(traced: TracedNetwork, path: Path) -> PairedCheck:
    """Run both at batch 1 and 3 with the pairs as they stand.

    The error is the root mean square of the difference over that of the network's own rounding noise, or over
    1e-4 of the output where that is more. Raise `ExportError` where it exceeds 2.
    """
    session = _open(path)
    errors = []
    for n in _BATCHES:
        inputs = draw_inputs(traced.inputs, n, _SEED, image_size=17)
        output: NDArray[np.float32] = session.run(None, inputs)[0]
        tensors = [torch.from_numpy(inputs[spec.name]) for spec in traced.inputs]
        with torch.inference_mode():
            expected = traced(*tensors).numpy()
            with rounding_off(traced):
                smooth = traced(*tensors).numpy()
        noise = max(_rms(expected - smooth), _EXACT * max(1.0, float(np.abs(expected).max())))
        errors.append(_rms(output - expected) / noise)
    check = PairedCheck(max_error=max(errors), batches=_BATCHES)
    if not check.max_error <= _NOISE_ALLOWED:
        raise ExportError(
            f"{path.name} differs from the quantized network in torch by {check.max_error:.2g} times its "
            f"rounding noise; at most {_NOISE_ALLOWED:g} is allowed."
        )
    return check


def _open(path: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except (Fail, InvalidGraph) as error:
        raise ExportError(f"ONNX Runtime refuses the quantized graph: {error}") from error


def _rms(values: NDArray[np.float32]) -> float:
    return float(np.sqrt(np.mean(np.square(values, dtype=np.float64))))
