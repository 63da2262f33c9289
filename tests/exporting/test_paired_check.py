from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper
from torch import Tensor, nn

from gantune.errors import ExportError
from gantune.exporting.options import ExportOptions
from gantune.exporting.paired_check import check_against_torch
from gantune.exporting.traced import TracedNetwork
from gantune.records.interface import InputSpec, OutputSpec


class Faulty(nn.Module):
    """Give z back, or NaN where the batch is larger than `most`."""

    family = "faulty"
    config: dict[str, object] = {}  # noqa: RUF012  (a constant of the contract)
    inputs = (InputSpec(name="z", kind="latent", shape=("N", 4)),)
    output = OutputSpec(kind="vector", channels=4)

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def forward(self, z: Tensor) -> Tensor:
        return z * float("nan") if len(z) > self.most else z


def write_identity(path: Path, factor: float = 1.0) -> Path:
    value = helper.make_tensor_value_info("z", TensorProto.FLOAT, ["N", 4])
    output = helper.make_tensor_value_info("output", TensorProto.FLOAT, ["N", 4])
    scale = onnx.numpy_helper.from_array(np.float32(factor), "factor")
    graph = helper.make_graph(
        [helper.make_node("Mul", ["z", "factor"], ["output"])], "g", [value], [output], [scale]
    )
    opset = [helper.make_opsetid("", 20)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=10), path)
    return path


def check(network: nn.Module, path: Path) -> float:
    with torch.inference_mode():
        return check_against_torch(TracedNetwork(network, ExportOptions()), path).max_error


def test_equal_numbers_are_exact(tmp_path: Path) -> None:
    assert check(Faulty(most=8), write_identity(tmp_path / "network.onnx")) == 0


@pytest.mark.parametrize("most", [0, 2])
def test_a_network_that_gives_nan_at_any_batch_is_refused(tmp_path: Path, most: int) -> None:
    with pytest.raises(ExportError, match="network itself gives NaN"):
        check(Faulty(most), write_identity(tmp_path / "network.onnx"))


@pytest.mark.parametrize(
    ("factor", "message"),
    [(1.001, r"differs from the network in torch by 0\.001"), (float("inf"), "NaN or inf")],
)
def test_a_file_with_other_numbers_is_refused(tmp_path: Path, factor: float, message: str) -> None:
    with pytest.raises(ExportError, match=message):
        check(Faulty(most=8), write_identity(tmp_path / "network.onnx", factor))
