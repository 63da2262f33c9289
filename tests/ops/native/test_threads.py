"""The kernels give the same bits on 1, 2 and 5 threads, forward and backward."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from gantune import ops
from gantune.ops import styled_convolution as styled
from gantune.ops.bias_act.native import KINDS
from gantune.ops.bias_act.options import BiasActOptions
from gantune.ops.modulated_conv2d.native import end_layer
from gantune.ops.native import library

if library.missing_reason() is not None:
    pytest.skip(str(library.missing_reason()), allow_module_level=True)

F4, F6 = ops.setup_filter([1, 3, 3, 1]), ops.setup_filter([1, 4, 7, 6, 3, 1])
FULL = torch.outer(torch.arange(1.0, 4.0), torch.arange(1.0, 5.0))
Results = tuple[Tensor, ...]
Case = Callable[[Tensor], Tensor]


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def on_threads(run: Callable[[], Results]) -> list[Results]:
    before = torch.get_num_threads()
    results = []
    try:
        for num_threads in (1, 2, 5):
            torch.set_num_threads(num_threads)
            results.append(run())
    finally:
        torch.set_num_threads(before)
    return results


def assert_same_bits(run: Callable[[], Results]) -> None:
    first, *others = on_threads(run)
    for other in others:
        for found, expected in zip(other, first, strict=True):
            assert torch.equal(found, expected)


B, SHAPE = normal(21, seed=1), (2, 21, 41, 67)
DIFFERENTIABLE: dict[str, Case] = {
    "upfirdn2d up": lambda x: ops.upfirdn2d(x, F4, up=2, padding=[2, 1, 2, 1], implementation="native"),
    "upfirdn2d down": lambda x: ops.upfirdn2d(x, F4, down=2, padding=1, implementation="native"),
    "upfirdn2d 2-D": lambda x: ops.upfirdn2d(x, FULL, up=3, down=2, padding=3, implementation="native"),
    "filtered_lrelu": lambda x: ops.filtered_lrelu(
        x, F6, F6, B, up=2, down=2, padding=6, clamp=0.5, implementation="native"
    ),
    **{
        f"bias_act {act}": lambda x, act=act: ops.bias_act(x, B, act=act, clamp=0.7, implementation="native")
        for act in KINDS
    },
}


@pytest.mark.parametrize("name", DIFFERENTIABLE)
@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_forward_and_backward(name: str, channels_last: bool, dtype: torch.dtype) -> None:
    x = normal(*SHAPE).to(dtype)
    x = x.contiguous(memory_format=torch.channels_last) if channels_last else x
    x.requires_grad_()

    def run() -> Results:
        y = DIFFERENTIABLE[name](x)
        (dx,) = torch.autograd.grad(y, x, y.detach() + 1, create_graph=True)
        if not dx.requires_grad:
            return y, dx
        return (y, dx, *torch.autograd.grad(dx, x, dx.detach(), allow_unused=True, materialize_grads=True))

    assert_same_bits(run)


@pytest.mark.parametrize("channels_last", [False, True])
def test_the_end_of_a_layer(channels_last: bool) -> None:
    x = normal(*SHAPE)
    x = x.contiguous(memory_format=torch.channels_last) if channels_last else x
    options = BiasActOptions(1, "lrelu", 0.2, 1.4, 0.8)
    scale, noise = normal(2, 21, seed=2), normal(1, 1, 41, 67, seed=3)
    assert_same_bits(lambda: (end_layer(x, scale, noise, B, options, strength=0.5),))


@pytest.mark.parametrize("products", ["fp32", "bf16", "bf16_large", "bf16_direct"])
@pytest.mark.parametrize("up", [False, True])
def test_a_styled_convolution(products: styled.Products, up: bool) -> None:
    rows, taps = (4 * 19, 2) if up else (19, 3)
    options = styled.StyledOptions(
        scale_in=normal(2, 21, seed=4),
        scale_out=normal(2, 19, seed=5),
        bias=normal(19, seed=6),
        slope=torch.full((19,), 0.2),
        smooth=[0.25, 0.5, 0.25] if up else None,
        clamp=4.0,
        products=products,
    )
    x, weight = normal(*SHAPE), normal(rows, 21, taps, taps, seed=7)
    assert_same_bits(lambda: (styled.styled_convolution(x, weight, options),))


def test_a_projection_of_pixels() -> None:
    x, weight = normal(*SHAPE).contiguous(memory_format=torch.channels_last), normal(2, 3, 21, seed=8)
    assert_same_bits(lambda: (styled.project_pixels(x, weight, normal(3, seed=9), 0.8),))


def test_modulated_conv2d() -> None:
    weight, styles, noise = normal(8, 21, 3, 3), normal(2, 21) + 1, normal(2, 1, 82, 134)
    x = normal(*SHAPE)

    def run() -> Results:
        return (
            ops.modulated_conv2d(
                *(x, weight, styles),
                noise=noise, up=2, padding=1, resample_filter=F4, flip_weight=False, implementation="native",
            ),
        )  # fmt: skip

    assert_same_bits(run)
