"""What an engine really does with each layer of an int8 artifact, read from its own profile."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from gantune.records.artifact import Artifact
from gantune.runtime.artifact_files import read_artifact
from gantune.runtime.sampling import Array, draw_inputs

_INTEGERS = ("i8", "u8", "int8", "uint8")
_FLOATS = {"f32": "fp32", "float": "fp32", "f16": "fp16", "float16": "fp16"}


def read_executed_layers(artifact_dir: Path, *, image_size: int = 64) -> dict[str, str]:
    """Map the dotted name of each dense layer to the precision of the kernel that ran it ("int8", "fp32" …).

    OpenVINO says it in its execution graph, ONNX Runtime in the profile of a run; both after their own
    rewriting, so a pair that was not turned into an integer kernel counts as float.
    """
    artifact = read_artifact(artifact_dir)
    return _READERS[artifact.engine](artifact, artifact_dir / artifact.entry, image_size)


def _read_openvino(artifact: Artifact, path: Path, image_size: int) -> dict[str, str]:
    from gantune.runtime.engines.openvino import compile_settings, plain_fact
    from gantune.runtime.engines.openvino_core import shared_core

    core = shared_core()
    model = core.read_model(path)
    shapes = {name: array.shape for name, array in _inputs(artifact, image_size).items()}
    model.reshape({name: list(shape) for name, shape in shapes.items()})
    compiled = core.compile_model(model, "CPU", compile_settings(artifact, None))
    found: dict[str, str] = {}
    for node in compiled.get_runtime_model().get_ops():
        facts = {key: plain_fact(value) for key, value in node.get_rt_info().items()}
        if facts["layerType"] in ("Convolution", "Deconvolution", "FullyConnected", "MatMul"):
            precision = facts["runtimePrecision"]
            is_integer = precision in _INTEGERS or "i8" in facts["primitiveType"].lower()
            names = [name.split("/")[0] for name in facts["originalLayersNames"].split(",")]
            _note(found, names, "int8" if is_integer else _FLOATS.get(precision, precision))
    return found


def _note(found: dict[str, str], names: Iterable[str], precision: str) -> None:
    """Note what ran the layers; one that runs as several groups is "int8" only where all of them are."""
    for layer in (re.sub(r"\.group_\d+$", "", name) for name in names):
        found[layer] = precision if found.get(layer, "int8") == "int8" else found[layer]


def _read_onnxruntime(artifact: Artifact, path: Path, image_size: int) -> dict[str, str]:
    from gantune.runtime.engines.onnxruntime import profile_kernels

    found: dict[str, str] = {}
    for kernel in profile_kernels(artifact, path, _inputs(artifact, image_size), threads=None):
        is_integer = kernel.input_type in _INTEGERS and kernel.kind.startswith(("QLinear", "QGemm"))
        # The layout pass appends a number to the names of nodes that it moves to channels-last kernels.
        layer = re.sub(r"_token_\d+$", "", kernel.name)
        _note(found, [layer], "int8" if is_integer else _FLOATS.get(kernel.input_type, kernel.input_type))
    return found


_READERS: dict[str, Callable[[Artifact, Path, int], dict[str, str]]] = {
    "openvino": _read_openvino,
    "onnxruntime": _read_onnxruntime,
}


def _inputs(artifact: Artifact, image_size: int) -> dict[str, Array]:
    return draw_inputs(artifact.inputs, 1, 0, image_size=image_size)
