from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from gantune.errors import CheckpointError, UsageError
from gantune.quality.onnx_features import open_onnx_features
from gantune.quality.pixels import pixels_from_bytes

IMAGES = pixels_from_bytes(np.full((3, 3, 8, 8), 255, np.uint8))


def write_network(path: Path, shape: list[str | int], *, operator: str = "GlobalAveragePool") -> Path:
    graph = helper.make_graph(
        [helper.make_node(operator, ["x"], ["y"])],
        "features",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=9), path)
    return path


def test_maps_are_averaged_and_values_brought_to_the_stated_range(tmp_path: Path) -> None:
    path = write_network(tmp_path / "net.onnx", ["N", 3, "H", "W"])
    features = open_onnx_features(path, low=-1, high=1)
    assert features.extract(IMAGES).features.tolist() == [[1, 1, 1]] * 3
    assert features.name == "net.onnx in [-1, 1]"
    assert open_onnx_features(path).extract(IMAGES).features.tolist() == [[255, 255, 255]] * 3


def test_a_fixed_size_resizes_and_a_fixed_batch_is_obeyed(tmp_path: Path) -> None:
    path = write_network(tmp_path / "net.onnx", [2, 3, 4, 4])
    features = open_onnx_features(path)
    assert features.resize_identity == "clean to 4"
    assert features.extract(IMAGES).features.shape == (3, 3)


def test_files_that_are_no_feature_network_are_refused(tmp_path: Path) -> None:
    (tmp_path / "junk.onnx").write_bytes(b"junk")
    with pytest.raises(CheckpointError, match="not an ONNX network"):
        open_onnx_features(tmp_path / "junk.onnx")
    with pytest.raises(CheckpointError, match=r"one input \[N, 3, H, W\]"):
        open_onnx_features(write_network(tmp_path / "gray.onnx", ["N", 1, 4, 4]))
    with pytest.raises(UsageError, match="high must exceed low"):
        open_onnx_features(tmp_path / "junk.onnx", low=1, high=1)
