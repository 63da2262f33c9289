"""Small artifacts built by hand: z [N, 4] → a 2-channel image [N, 2, 8, 8] that is linear in z, times psi."""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from gantune.records.artifact import Artifact
from gantune.records.interface import InputSpec, OutputSpec
from gantune.runtime import describe_files, write_artifact

INPUTS = (
    InputSpec(name="z", kind="latent", shape=("N", 4)),
    InputSpec(name="truncation_psi", kind="scalar", shape=(), default=1.0),
)
_GENERATOR = np.random.default_rng(0)
DENSE = _GENERATOR.standard_normal((4, 16 * 8 * 8)).astype(np.float32) / 4
KERNEL = _GENERATOR.standard_normal((2, 16, 3, 3)).astype(np.float32) / 12


def expected_image(z: np.ndarray, psi: float = 1.0) -> np.ndarray:
    """Compute the image in float64, by the definition of a correlation with zero padding."""
    field = np.pad(
        (z.astype(np.float64) @ DENSE).reshape(-1, 16, 8, 8) * psi, ((0, 0), (0, 0), (1, 1), (1, 1))
    )
    image = np.zeros((len(z), 2, 8, 8))
    for row in range(3):
        for column in range(3):
            window = field[:, :, row : row + 8, column : column + 8]
            image += np.einsum("ncij,oc->noij", window, KERNEL[:, :, row, column].astype(np.float64))
    return image


def write_onnx_artifact(directory: Path, *, engine: str = "onnxruntime", **changes: object) -> Artifact:
    directory.mkdir(parents=True, exist_ok=True)
    nodes = [
        helper.make_node("MatMul", ["z", "dense"], ["flat"]),
        helper.make_node("Reshape", ["flat", "shape"], ["field"]),
        helper.make_node("Mul", ["field", "truncation_psi"], ["scaled"]),
        helper.make_node("Conv", ["scaled", "kernel"], ["image"], pads=[1, 1, 1, 1]),
    ]
    graph = helper.make_graph(
        nodes,
        "sample",
        [
            helper.make_tensor_value_info("z", TensorProto.FLOAT, ["N", 4]),
            helper.make_tensor_value_info("truncation_psi", TensorProto.FLOAT, []),
        ],
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 2, 8, 8])],
        [
            numpy_helper.from_array(DENSE, "dense"),
            numpy_helper.from_array(np.array([-1, 16, 8, 8]), "shape"),
            numpy_helper.from_array(KERNEL, "kernel"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    onnx.save(model, directory / "network.onnx")
    return describe(directory, "network.onnx", engine=engine, **changes)


def describe(directory: Path, entry: str, *, engine: str, **changes: object) -> Artifact:
    fields: dict[str, object] = {
        "gantune_version": "0.1.0",
        "family": "sample",
        "engine": engine,
        "precision": "fp32",
        "inputs": INPUTS,
        "output": OutputSpec(channels=2),
        "entry": entry,
        "files": describe_files(directory, [entry]),
    }
    artifact = Artifact.model_validate(fields | changes)
    write_artifact(artifact, directory)
    return artifact
