"""Run an ONNX or OpenVINO artifact with OpenVINO on the CPU, its precision always told explicitly.

Left alone, OpenVINO silently chooses bf16 or fp16 from the processor model, and results differ from one
machine to the next.
"""

from pathlib import Path

import numpy as np
import openvino
from numpy.typing import NDArray

from gantune.errors import CheckpointError
from gantune.records.artifact import Artifact
from gantune.runtime.engines.session import Session, summarize_precisions
from gantune.runtime.inputs import Arrays

_HINTS = {"fp32": "f32", "bf16": "bf16", "fp16": "f16"}
_DENSE_TYPES = ("Convolution", "Deconvolution", "FullyConnected", "MatMul", "GroupConvolution")
_PRECISIONS = {"f32": "fp32", "f16": "fp16", "bf16": "bf16", "i8": "int8", "u8": "int8"}


class _OpenVinoSession:
    def __init__(self, artifact: Artifact, path: Path, threads: int | None) -> None:
        core = openvino.Core()
        self._compiled = core.compile_model(core.read_model(path), "CPU", compile_settings(artifact, threads))
        self._request = self._compiled.create_infer_request()

    def run(self, inputs: Arrays) -> NDArray[np.float32]:
        results = self._request.infer(inputs, share_inputs=True)
        output: NDArray[np.float32] = results[self._compiled.output(0)]
        return output

    def read_precision(self) -> str:
        """Read the runtime graph, which names the precision each layer is executed in."""
        facts = [node.get_rt_info() for node in self._compiled.get_runtime_model().get_ops()]
        dense = [fact for fact in facts if str(_plain(fact["layerType"])) in _DENSE_TYPES]
        names = [_plain(fact["runtimePrecision"]) for fact in dense]
        return summarize_precisions([_PRECISIONS.get(name, name) for name in names])


def open_session(artifact: Artifact, directory: Path, threads: int | None) -> Session:
    """Compile the artifact's network; raise CheckpointError where OpenVINO refuses it."""
    try:
        return _OpenVinoSession(artifact, directory / artifact.entry, threads)
    except RuntimeError as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        raise CheckpointError(
            f"OpenVINO refuses {directory / artifact.entry}: {lines[-1].strip()}"
        ) from error


def compile_settings(artifact: Artifact, threads: int | None) -> dict[str, str | int | float | bool]:
    """Translate precision, threads and options; options in capitals go to OpenVINO as they are.

    An int8 artifact tells `options["rest_precision"]` (fp32 where absent) for what is not quantized.
    """
    name = artifact.precision
    if name == "int8":
        name = artifact.options.get("rest_precision", "fp32")  # type: ignore[assignment]
    if name not in _HINTS:
        raise CheckpointError(f"option rest_precision is {name!r}; it must be one of {', '.join(_HINTS)}")
    settings: dict[str, str | int | float | bool] = {"INFERENCE_PRECISION_HINT": _HINTS[name]}
    if threads is not None:
        settings["INFERENCE_NUM_THREADS"] = threads
    return settings | {key: value for key, value in artifact.options.items() if key.isupper()}


def _plain(value: object) -> str:
    """Unwrap a runtime fact, which is a text or OpenVINO's wrapper around one."""
    return str(value.get()) if isinstance(value, openvino.OVAny) else str(value)
