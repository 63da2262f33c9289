"""Run an ONNX artifact with ONNX Runtime: on the CPU, or on a GPU by its CUDA or TensorRT provider."""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidGraph, InvalidProtobuf, NotImplemented

from gantune.errors import CheckpointError, UnavailableError, first_line
from gantune.records.artifact import Artifact
from gantune.runtime.engines.session import Session, check_input_names, summarize_precisions
from gantune.runtime.inputs import Arrays
from gantune.runtime.sampling import draw_inputs

_GRAPH_LEVELS = {
    "disabled": onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL,
    "basic": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "extended": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    "all": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
}
# What TensorRT cannot run goes to CUDA, and what CUDA cannot run to the CPU.
_PROVIDERS = {
    "cpu": ["CPUExecutionProvider"],
    "cuda": ["CUDAExecutionProvider", "CPUExecutionProvider"],
    "tensorrt": ["TensorrtExecutionProvider", "CUDAExecutionProvider", "CPUExecutionProvider"],
}
_LOAD_ERRORS = (Fail, InvalidGraph, InvalidProtobuf, NotImplemented)
_KERNEL_SUFFIX = "_kernel_time"
_DENSE_WORDS = ("Conv", "MatMul", "Gemm")
_PRECISIONS = {"float": "fp32", "float16": "fp16", "bfloat16": "bf16", "int8": "int8", "uint8": "int8"}


class KernelRun(NamedTuple):
    """One run of one kernel: its node, the operator, the type of its first input, and what it took."""

    name: str
    kind: str
    input_type: str
    time_ms: float


class _OnnxRuntimeSession:
    def __init__(self, artifact: Artifact, path: Path, threads: int | None) -> None:
        self._artifact = artifact
        self._path = path
        self._threads = threads
        self._session = onnxruntime.InferenceSession(
            str(path), session_options(artifact, threads), providers=choose_providers(artifact)
        )
        check_input_names(artifact, path, [node.name for node in self._session.get_inputs()])

    def run(self, inputs: Arrays) -> NDArray[np.float32]:
        output: NDArray[np.float32] = self._session.run(None, inputs)[0]
        return output

    def read_precision(self) -> str:
        """Profile one small run of a second session: only a profile names the kernels' input types."""
        inputs = draw_inputs(self._artifact.inputs, 1, 0)
        kernels = profile_kernels(self._artifact, self._path, inputs, threads=self._threads)
        dense = [kernel for kernel in kernels if any(word in kernel.kind for word in _DENSE_WORDS)]
        return summarize_precisions(
            [_PRECISIONS.get(kernel.input_type, kernel.input_type) for kernel in dense]
        )


def open_session(artifact: Artifact, directory: Path, threads: int | None) -> Session:
    """Open the artifact's ONNX file; raise CheckpointError where ONNX Runtime refuses it."""
    try:
        return _OnnxRuntimeSession(artifact, directory / artifact.entry, threads)
    except _LOAD_ERRORS as error:
        raise CheckpointError(
            f"ONNX Runtime refuses {directory / artifact.entry}: {first_line(error)}"
        ) from error


def choose_providers(artifact: Artifact) -> list[str]:
    """List the providers for the artifact's option `provider` (cpu, cuda or tensorrt), first choice first.

    Raises UnavailableError where the installed ONNX Runtime lacks it: it would silently run on the CPU.
    """
    name = str(artifact.options.get("provider", "cpu"))
    if name not in _PROVIDERS:
        raise CheckpointError(f"option provider is {name!r}; it must be one of {', '.join(_PROVIDERS)}")
    wanted = _PROVIDERS[name]
    here = onnxruntime.get_available_providers()
    if wanted[0] not in here:
        raise UnavailableError(
            f"the artifact asks for ONNX Runtime's {wanted[0]}, and here are {', '.join(here)}: "
            "pip install onnxruntime-gpu (with TensorRT for tensorrt), or build it with provider=cpu"
        )
    return [provider for provider in wanted if provider in here]


def session_options(artifact: Artifact, threads: int | None) -> onnxruntime.SessionOptions:
    """Translate threads and the artifact's options; those named `session.…` are passed on as they are."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    if threads is not None:
        options.intra_op_num_threads = threads
    level = str(artifact.options.get("graph_optimization_level", "all"))
    if level not in _GRAPH_LEVELS:
        raise CheckpointError(
            f"option graph_optimization_level is {level!r}; it must be one of {', '.join(_GRAPH_LEVELS)}"
        )
    options.graph_optimization_level = _GRAPH_LEVELS[level]
    for name, value in artifact.options.items():
        if name.startswith("session."):
            options.add_session_config_entry(name, str(value))
    return options


def profile_kernels(
    artifact: Artifact,
    path: Path,
    inputs: Mapping[str, NDArray[np.generic]],
    *,
    threads: int | None,
    num_calls: int = 1,
) -> list[KernelRun]:
    """Run the ONNX file at `path` in a session of its own and list every kernel that ran, in order."""
    options = session_options(artifact, threads)
    options.enable_profiling = True
    with tempfile.TemporaryDirectory() as folder:
        options.profile_file_prefix = str(Path(folder) / "profile")
        session = onnxruntime.InferenceSession(str(path), options, providers=choose_providers(artifact))
        for _ in range(num_calls):
            session.run(None, dict(inputs))
        events = json.loads(Path(session.end_profiling()).read_text())
    return [
        _read_kernel(event)
        for event in events
        if event["cat"] == "Node" and event["name"].endswith(_KERNEL_SUFFIX)
    ]


def _read_kernel(event: Mapping[str, Any]) -> KernelRun:
    types = event["args"]["input_type_shape"]
    return KernelRun(
        name=event["name"].removesuffix(_KERNEL_SUFFIX),
        kind=event["args"]["op_name"],
        input_type=next(iter(types[0]), "unknown") if types else "unknown",
        time_ms=event["dur"] / 1e3,
    )
