"""The portable form keeps the memory format and exports as plain convolutions for any size."""

import pytest
import torch
from torch import Tensor

from gantune import ops
from gantune.ops.tolerance import BY_DTYPE, largest_error
from operation_samples import Call, small_call

ALLOWED_IN_EXPORTS = {
    "add.Tensor", "addcmul.default", "clamp.default", "conv2d.default", "conv_transpose2d.input",
    "expand.default", "flip.default", "leaky_relu.default", "matmul.default", "mul.Tensor", "pad.default",
    "reshape.default", "rsqrt.default", "slice.Tensor", "square.default", "sum.dim_IntList",
    "sym_size.int", "t.default", "transpose.int", "unsqueeze.default",
}  # fmt: skip


def test_it_keeps_the_memory_format() -> None:
    call = small_call("upfirdn2d")
    call.keywords |= {"down": 1, "padding": 3}  # no cropping or decimation, which give views
    assert call.run("portable").is_contiguous()
    call.tensors["x"] = call.tensors["x"].contiguous(memory_format=torch.channels_last)
    assert call.run("portable").is_contiguous(memory_format=torch.channels_last)


@pytest.mark.slow
@pytest.mark.parametrize("operation", ["upfirdn2d", "bias_act", "filtered_lrelu", "modulated_conv2d"])
def test_one_export_serves_every_batch_and_image_size(operation: str) -> None:
    call = small_call(operation)
    call.tensors.pop("noise", None)

    class Network(torch.nn.Module):
        def forward(self, x: Tensor, styles: Tensor) -> Tensor:
            tensors = call.tensors | {"x": x} | ({"styles": styles} if "styles" in call.tensors else {})
            return Call(operation, tensors, call.keywords).run("auto")

    N, H, W = torch.export.Dim("N"), torch.export.Dim("H", min=3), torch.export.Dim("W", min=3)
    x, styles = call.tensors["x"], call.tensors.get("styles", torch.zeros(2, 2))
    program = torch.export.export(Network(), (x, styles), dynamic_shapes=({0: N, 2: H, 3: W}, {0: N}))

    called = {
        str(node.target).removeprefix("aten.") for node in program.graph.nodes if node.op == "call_function"
    }
    assert called <= ALLOWED_IN_EXPORTS
    for size in [(1, 7, 9), (5, 4, 6)]:
        x, styles = torch.randn(size[0], x.shape[1], *size[1:]), torch.randn(size[0], 2)
        expected = Network()(x, styles)
        assert largest_error(program.module()(x, styles), expected) <= BY_DTYPE[torch.float32].relative


def test_no_filter_and_a_filter_of_one_tap_are_the_same() -> None:
    x = torch.randn(1, 2, 4, 5)
    found = ops.upfirdn2d(x, None, up=2, padding=[1, 0, -1, 2], gain=3, implementation="portable")
    expected = ops.upfirdn2d(x, torch.ones(1), up=2, padding=[1, 0, -1, 2], gain=3, implementation="portable")
    assert torch.equal(found, expected)
