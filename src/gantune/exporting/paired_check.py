"""Compare an exported ONNX file with the network in torch on the same inputs, in ONNX Runtime."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from numpy.typing import NDArray

from gantune.errors import ExportError
from gantune.exporting.traced import TracedNetwork
from gantune.records.interface import InputSpec
from gantune.runtime.sampling import Array, draw_inputs

_BATCHES = (1, 3)
_SEED = 20
_EXACT = 1e-4


@dataclass(frozen=True)
class PairedCheck:
    """Give max |a − b| / max(1, max |b|) over the batches; exact means at most 1e-4."""

    max_error: float
    batches: tuple[int, ...]

    @property
    def is_exact(self) -> bool:
        """Say whether the file gives the network's numbers."""
        return self.max_error <= _EXACT


def check_against_torch(traced: TracedNetwork, path: Path) -> PairedCheck:
    """Run both at batch 1 and 3, and change each input once.

    Raise `ExportError` where the numbers differ, are not finite, or the output does not react to an input.
    """
    session = _open(path)
    errors = []
    for n in _BATCHES:
        inputs = draw_inputs(traced.inputs, n, _SEED, image_size=17)
        output = _run(session, inputs)
        expected = _run_torch(traced, inputs)
        if not np.isfinite(expected).all():
            raise ExportError(f"The network itself gives NaN or infinity at batch {n}; check its weights.")
        if not np.isfinite(output).all():
            raise ExportError(f"{path.name} gives NaN or infinity at batch {n} where torch does not.")
        errors.append(float(np.abs(output - expected).max() / max(1.0, np.abs(expected).max())))
    check = PairedCheck(max_error=max(errors), batches=_BATCHES)
    if not check.is_exact:
        raise ExportError(
            f"{path.name} differs from the network in torch by {check.max_error:.2g}; "
            f"at most {_EXACT:g} is allowed."
        )
    _check_reactions(session, traced.inputs)
    return check


def _check_reactions(session: onnxruntime.InferenceSession, specs: tuple[InputSpec, ...]) -> None:
    inputs = draw_inputs(specs, 2, _SEED, image_size=17)
    other = draw_inputs(specs, 2, _SEED + 1, image_size=17)
    before = _run(session, inputs)
    for spec in specs:
        changed = dict(inputs)
        changed[spec.name] = _change(spec, inputs[spec.name], other[spec.name])
        if np.array_equal(_run(session, changed), before):
            raise ExportError(
                f"The output does not react to the input {spec.name!r} of the exported network."
            )


def _change(spec: InputSpec, value: Array, other: Array) -> Array:
    if spec.kind == "scalar":
        return np.asarray(value * 0.5, dtype=np.float32)
    if spec.kind == "class":
        return np.roll(value, 1, axis=-1) if value.ndim > 1 else (value + 1) % int((spec.high or 0) + 1)
    return other


def _open(path: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _run(session: onnxruntime.InferenceSession, inputs: dict[str, Array]) -> NDArray[np.float32]:
    output: NDArray[np.float32] = session.run(None, inputs)[0]
    return output


def _run_torch(traced: TracedNetwork, inputs: dict[str, Array]) -> NDArray[np.float32]:
    with torch.inference_mode():
        output = traced(*(torch.from_numpy(inputs[spec.name]) for spec in traced.inputs))
    array: NDArray[np.float32] = output.float().numpy()
    return array
