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
from gantune.runtime.engines.openvino_core import shared_core
from gantune.runtime.engines.session import Session, check_input_names, summarize_precisions
from gantune.runtime.inputs import Arrays

_HINTS = {"fp32": "f32", "bf16": "bf16", "fp16": "f16"}
_DENSE_TYPES = ("Convolution", "Deconvolution", "FullyConnected", "MatMul", "GroupConvolution")
# Each compiled network holds its own copy of the weights.
_MAX_SHAPES = 4
_Shapes = tuple[tuple[str, tuple[int, ...]], ...]
_PRECISIONS = {"f32": "fp32", "f16": "fp16", "bf16": "bf16", "i8": "int8", "u8": "int8"}


class _OpenVinoSession:
    """Compile for each shape of inputs, up to a few, as they come; then once for any shape.

    A network compiled for one shape is 1.15 to 1.2 times as fast as one compiled for any (StyleGAN2-256 on
    two cores, fp32 and bf16 alike).
    """

    def __init__(self, artifact: Artifact, path: Path, threads: int | None) -> None:
        self._core = shared_core()
        self._path = path
        self._settings = compile_settings(artifact, threads)
        self._compiled: dict[_Shapes | None, openvino.CompiledModel] = {}
        self._requests: dict[_Shapes | None, openvino.InferRequest] = {}
        check_input_names(artifact, path, [node.any_name for node in self._read_model().inputs])
        single = _single_sample(artifact)
        if single is not None:
            self._prepare(single)

    def run(self, inputs: Arrays) -> NDArray[np.float32]:
        shapes: _Shapes | None = tuple((name, array.shape) for name, array in inputs.items())
        if shapes not in self._compiled and len(self._compiled) >= _MAX_SHAPES:
            shapes = None
        self._prepare(shapes)
        results = self._requests[shapes].infer(inputs, share_inputs=True)
        output: NDArray[np.float32] = results[self._compiled[shapes].output(0)]
        return output

    def read_precision(self) -> str:
        """Read the runtime graph, which names the precision each layer is executed in."""
        if not self._compiled:
            self._prepare(None)
        compiled = next(iter(self._compiled.values()))
        facts = [node.get_rt_info() for node in compiled.get_runtime_model().get_ops()]
        dense = [fact for fact in facts if plain_fact(fact["layerType"]) in _DENSE_TYPES]
        names = [plain_fact(fact["runtimePrecision"]) for fact in dense]
        return summarize_precisions([_PRECISIONS.get(name, name) for name in names])

    def _prepare(self, shapes: _Shapes | None) -> None:
        if shapes in self._compiled:
            return
        model = self._read_model()
        try:
            if shapes is not None:
                model.reshape({name: list(shape) for name, shape in shapes})
            self._compiled[shapes] = self._core.compile_model(model, "CPU", self._settings)
        except RuntimeError as error:
            raise _refusal(self._path, error) from error
        self._requests[shapes] = self._compiled[shapes].create_infer_request()

    def _read_model(self) -> openvino.Model:
        try:
            return self._core.read_model(self._path)
        except RuntimeError as error:
            raise _refusal(self._path, error) from error


def _refusal(path: Path, error: RuntimeError) -> CheckpointError:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return CheckpointError(f"OpenVINO refuses {path}: {lines[-1].strip()}")


def _single_sample(artifact: Artifact) -> _Shapes | None:
    """Give the shapes at batch 1, or None where more than the batch is free."""
    free = {size for spec in artifact.inputs for size in spec.shape if isinstance(size, str)}
    if free - {"N"}:
        return None
    return tuple(
        (spec.name, tuple(1 if isinstance(size, str) else size for size in spec.shape))
        for spec in artifact.inputs
    )


def open_session(artifact: Artifact, directory: Path, threads: int | None) -> Session:
    """Read the artifact's network, and compile it for batch 1 where no other size is free.

    Raises CheckpointError where OpenVINO refuses it, then or at a later shape.
    """
    return _OpenVinoSession(artifact, directory / artifact.entry, threads)


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


def plain_fact(value: object) -> str:
    """Unwrap a runtime fact, which is a text or OpenVINO's wrapper around one."""
    return str(value.get()) if isinstance(value, openvino.OVAny) else str(value)
