from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from gantune.backends import BuildOptions, find_backend
from gantune.errors import CheckpointError, UnsupportedError
from gantune.optimizing.quantization_source import load_float_network
from quantize_samples import LAYERS, quantized


def write_graph(path: Path, *nodes: onnx.NodeProto, weight: np.ndarray) -> Path:
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])
    graph = helper.make_graph(list(nodes), "g", [value], [value], [numpy_helper.from_array(weight, "w")])
    onnx.save(helper.make_model(graph), path)
    return path


def test_an_int8_artifact_is_refused(tmp_path: Path) -> None:
    options = BuildOptions(precision="int8")
    find_backend("onnxruntime").build(quantized(LAYERS["convolution"]()), tmp_path / "a", options)
    with pytest.raises(UnsupportedError, match="is quantized already; quantize the checkpoint"):
        load_float_network(tmp_path / "a")


def test_graphs_are_refused_with_what_is_in_them(tmp_path: Path) -> None:
    rounding = helper.make_node("QuantizeLinear", ["x", "w"], ["y"])
    cases = {
        "is quantized already": write_graph(tmp_path / "q.onnx", rounding, weight=np.ones(1, np.float32)),
        "has half precision weights": write_graph(tmp_path / "h.onnx", weight=np.ones(1, np.float16)),
        "has no layers that can be prepared": write_graph(tmp_path / "f.onnx", weight=np.ones(1, np.float32)),
    }
    for message, path in cases.items():
        with pytest.raises(UnsupportedError, match=message):
            load_float_network(path)


def test_what_is_no_graph_is_a_damaged_file(tmp_path: Path) -> None:
    (tmp_path / "x.onnx").write_bytes(b"\xff\xff\xff not a graph")
    with pytest.raises(CheckpointError, match=r"x\.onnx is no ONNX file"):
        load_float_network(tmp_path / "x.onnx")
