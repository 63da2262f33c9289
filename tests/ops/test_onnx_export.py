"""One ONNX file of each operation runs in ONNX Runtime for every batch and image size."""

from pathlib import Path

import onnx
import onnxruntime
import pytest
import torch
from torch import Tensor

from gantune.ops.tolerance import BY_DTYPE, largest_error
from operation_samples import FUNCTIONS, Call, small_call


class Network(torch.nn.Module):
    """An operation whose parameters are constants; noise would fix the image size."""

    def __init__(self, operation: str) -> None:
        super().__init__()
        self.call = small_call(operation)
        self.call.tensors.pop("noise", None)

    def forward(self, x: Tensor, styles: Tensor) -> Tensor:
        styled = {"styles": styles} if "styles" in self.call.tensors else {}
        return Call(self.call.operation, self.call.tensors | {"x": x} | styled, self.call.keywords).run(
            "auto"
        )


@pytest.mark.slow
@pytest.mark.parametrize("operation", FUNCTIONS)
@pytest.mark.filterwarnings("ignore:# The axis name", "ignore:.*LeafSpec:FutureWarning")
def test_an_operation_exports_to_onnx_for_every_size(operation: str, tmp_path: Path) -> None:
    network = Network(operation).eval()
    x, styles = network.call.tensors["x"], network.call.tensors.get("styles", torch.zeros(2, 2))
    assert x is not None
    path = tmp_path / "operation.onnx"
    N, H, W = torch.export.Dim("N"), torch.export.Dim("H", min=3), torch.export.Dim("W", min=3)

    torch.onnx.export(
        network, (x, styles), path, dynamo=True, verbose=False, dynamic_shapes=({0: N, 2: H, 3: W}, {0: N})
    )

    graph = onnx.load(path).graph
    constants = {tensor.name for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type in {"Conv", "ConvTranspose"}:
            assert node.input[1] in constants, f"the weight of {node.name} is computed"
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [graph_input.name for graph_input in session.get_inputs()]
    for size in [(1, 7, 9), (5, 4, 6)]:
        x, styles = torch.randn(size[0], x.shape[1], *size[1:]), torch.randn(size[0], 2) + 2
        feeds = dict(zip(["x", "styles"], [x.numpy(), styles.numpy()], strict=True))
        [found] = session.run(None, {name: feeds[name] for name in names})
        expected = Call(operation, network.call.tensors | {"x": x}, network.call.keywords)
        if "styles" in expected.tensors:
            expected.tensors["styles"] = styles
        truth = expected.double().run("reference")
        assert largest_error(torch.from_numpy(found), truth) <= BY_DTYPE[torch.float32].relative
