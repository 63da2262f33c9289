"""The operators are whole citizens of torch: checked by opcheck, compiled without a break, exported."""

import pytest
import torch
from torch import Tensor

from gantune import ops
from gantune.ops.bias_act.options import parse_options
from gantune.ops.choose import use_implementation
from gantune.ops.modulated_conv2d.native import end_layer
from gantune.ops.native import library

if library.missing_reason() is not None:
    pytest.skip(str(library.missing_reason()), allow_module_level=True)

F12 = ops.setup_filter(torch.arange(1.0, 13.0))


def image(*, channels_last: bool = False, grad: bool = True) -> Tensor:
    x = torch.randn(2, 5, 9, 8, generator=torch.Generator().manual_seed(0))
    x = x.contiguous(memory_format=torch.channels_last) if channels_last else x
    return x.requires_grad_(grad)


B = torch.linspace(-1, 1, 5)


def samples(*, channels_last: bool) -> dict[str, tuple[object, ...]]:
    x = image(channels_last=channels_last)
    mask = torch.zeros(2, 1, 18, 17, 16, dtype=torch.uint8)
    fixed = x.detach()
    return {
        "upfirdn2d": (x, F12, [2, 1], [1, 2], [5, 6], [9, 9], 1.5, False),
        "bias_act": (x, B.clone().requires_grad_(), 1, "lrelu", 0.2, 1.4, 0.5),
        "bias_act_gradient": (image(), fixed, B, 1, "lrelu", 0.2, 1.4, 0.5),
        "filtered_lrelu": (
            *(x, F12, F12, B.clone().requires_grad_(), None, None),
            *([2, 2], [9, 9], [18, 17], [4, 3], 4.0, 0.2, 0.5, False, True),
        ),
        "filtered_lrelu_linear": (x, mask, F12, F12, [2, 2], [9, 9], [0, 0], [4, 3], 4.0, 0.2, False),
        "end_layer": (fixed, None, torch.ones(9, 8), B, None, "lrelu", 0.2, 1.4, 256.0, 0.5),
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", samples(channels_last=False))
@pytest.mark.parametrize("channels_last", [False, True])
def test_opcheck_passes(name: str, channels_last: bool) -> None:
    operator = getattr(torch.ops.gantune, name).default
    torch.library.opcheck(operator, samples(channels_last=channels_last)[name])


class Layer(torch.nn.Module):
    """One call of each operation."""

    def forward(self, x: Tensor) -> Tensor:
        weight = torch.ones(5, 5, 3, 3) / 45
        x = ops.modulated_conv2d(x, weight, torch.ones(2, 5), padding=1)
        x = ops.bias_act(x, B, act="lrelu", clamp=1)
        x = ops.upsample2d(x, F12)
        return ops.filtered_lrelu(x, F12, F12, B, up=2, down=2, padding=10)


@pytest.mark.slow
def test_compiled_equals_eager_without_a_graph_break() -> None:
    torch.compiler.reset()
    x, y = image(), image()
    with use_implementation("native"):
        explained = torch._dynamo.explain(Layer())(x)
        assert explained.graph_break_count == 0, explained.break_reasons
        compiled = torch.compile(Layer(), fullgraph=True, backend="aot_eager")(x)
        eager = Layer()(y)
    assert torch.equal(compiled, eager)
    for result, leaf in ((compiled, x), (eager, y)):
        result.square().sum().backward()
        assert leaf.grad is not None
    assert torch.equal(x.grad, y.grad)


def test_an_exported_program_keeps_the_operators_where_native_is_asked_for() -> None:
    with use_implementation("native"), torch.no_grad():
        program = torch.export.export(Layer(), (image(grad=False),))
        expected = Layer()(image(grad=False))
    names = {str(node.target) for node in program.graph.nodes}
    assert {"gantune.filtered_lrelu.default", "gantune.upfirdn2d.default"} <= names
    assert torch.equal(program.module()(image(grad=False)), expected)


def test_an_exported_program_is_plain_torch_by_itself() -> None:
    program = torch.export.export(Layer(), (image(grad=False),))
    assert not any("gantune" in str(node.target) for node in program.graph.nodes)


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("shape", [(9, 8), (1, 1, 9, 8), (2, 1, 9, 8)])
def test_the_end_of_a_layer_is_its_steps(channels_last: bool, shape: tuple[int, ...]) -> None:
    x = image(channels_last=channels_last, grad=False)
    scale, scale_out, noise = torch.rand(2, 5), torch.rand(2, 5), torch.randn(shape)
    options = parse_options(1, "lrelu", None, None, 0.8)

    y = end_layer(x, scale, noise, B, options, strength=0.3, scale_out=scale_out)

    expected = ops.bias_act(
        x * scale[:, :, None, None] + 0.3 * noise, B, act="lrelu", clamp=0.8, implementation="reference"
    )
    torch.testing.assert_close(y, expected * scale_out[:, :, None, None])


def test_scales_ride_along_with_filtered_lrelu() -> None:
    from gantune.ops.filtered_lrelu import options as filtered_lrelu_options
    from gantune.ops.filtered_lrelu.native import filtered_lrelu_native

    x = image(grad=False)
    options = filtered_lrelu_options.parse_options(
        2, 2, 10, gain=1.4, slope=0.2, clamp=0.5, flip_filter=False
    )
    scale_in, scale_out = torch.rand(2, 5), torch.rand(2, 5)
    y = filtered_lrelu_native(x, F12, F12, B, options, scale_in=scale_in, scale_out=scale_out)

    inner = filtered_lrelu_native(x * scale_in[:, :, None, None], F12, F12, B, options)
    torch.testing.assert_close(y, inner * scale_out[:, :, None, None])
