"""filtered_lrelu as an operator on a device; its derivatives are two operators closed under differentiation.

The operation is straight on both sides of zero, so its derivative in a direction (`tangent`) is the same
two filters around a slope for each value, and the gradient is that transposed. Differentiating either again
gives the other; neither depends on how x changes, except where it crosses zero.
"""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from gantune.ops.resampling_filter import filter_taps
from gantune.ops.triton.device_facts import find_facts
from gantune.ops.triton.launch_plans import MiddlePlan, Stage, divide_up, plan_middle
from gantune.ops.triton.launching import (
    compute_dtype,
    is_channels_last,
    load_kernel,
    new_image,
    on_device,
    product_precision,
)


@torch.library.custom_op("gantune::triton_filtered_lrelu", mutates_args=())
def filter_activation(
    x: Tensor,
    tangent: Tensor | None,
    fu: Tensor,
    fd: Tensor,
    b: Tensor | None,
    up: int,
    down: int,
    padding: Sequence[int],
    gain: float,
    slope: float,
    clamp: float | None,
    is_flipped: bool,
) -> Tensor:
    """Compute filtered_lrelu of `x`, or with `tangent` [N, C, H, W] its derivative at `x` in that direction.

    `padding` is [x0, x1, y0, y1]; computed in float32 (float64 in itself).
    """
    fu, fd = fu.contiguous(), fd.contiguous()
    height, width = _output_size(x, fu, fd, up, down, padding)
    out = new_image(x, height, width)
    if out.numel() == 0:
        return out
    plan = _plan(x, out, fu, fd, up, down, is_gradient=False)
    blocks_c = divide_up(x.shape[1], plan.block_c)
    along = x if tangent is None else tangent
    with on_device(x):
        load_kernel("filtered_lrelu_kernel", "filtered_lrelu_kernel")[(plan.num_programs,)](
            x, along, fu, fd, x if b is None else b.contiguous(), out,
            x.shape[0] * blocks_c, blocks_c, *x.shape[1:], height, width,
            *x.stride(), *along.stride(), *out.stride(), *plan.tiles,
            HAS_TANGENT=tangent is not None,
            **_constants(x, fu, fd, b, up, down, padding, gain, slope, clamp, is_flipped, plan),
        )  # fmt: skip
    return out


@torch.library.custom_op("gantune::triton_filtered_lrelu_gradient", mutates_args=())
def filter_activation_gradient(
    dy: Tensor,
    x: Tensor,
    fu: Tensor,
    fd: Tensor,
    b: Tensor | None,
    up: int,
    down: int,
    padding: Sequence[int],
    gain: float,
    slope: float,
    clamp: float | None,
    is_flipped: bool,
) -> Tensor:
    """Return the gradient of `x` for the gradient `dy` of the result."""
    fu, fd = fu.contiguous(), fd.contiguous()
    out = new_image(x, x.shape[2], x.shape[3])
    if out.numel() == 0 or dy.numel() == 0:
        return out.zero_()
    plan = _plan(x, out, fu, fd, up, down, is_gradient=True)
    blocks_c = divide_up(x.shape[1], plan.block_c)
    with on_device(x):
        load_kernel("filtered_lrelu_kernel", "filtered_lrelu_gradient_kernel")[(plan.num_programs,)](
            dy, x, fu, fd, x if b is None else b.contiguous(), out,
            x.shape[0] * blocks_c, blocks_c, *x.shape[1:], *dy.shape[2:],
            *x.stride(), *dy.stride(), *out.stride(), *plan.tiles, DY=plan.gradient_size,
            **_constants(x, fu, fd, b, up, down, padding, gain, slope, clamp, is_flipped, plan),
        )  # fmt: skip
    return out


@filter_activation.register_fake
def _fake(
    x: Tensor,
    tangent: Tensor | None,
    fu: Tensor,
    fd: Tensor,
    b: Tensor | None,
    up: int,
    down: int,
    padding: Sequence[int],
    gain: float,
    slope: float,
    clamp: float | None,
    is_flipped: bool,
) -> Tensor:
    return new_image(x, *_output_size(x, fu, fd, up, down, padding))


@filter_activation_gradient.register_fake
def _fake_gradient(
    dy: Tensor,
    x: Tensor,
    fu: Tensor,
    fd: Tensor,
    b: Tensor | None,
    up: int,
    down: int,
    padding: Sequence[int],
    gain: float,
    slope: float,
    clamp: float | None,
    is_flipped: bool,
) -> Tensor:
    return new_image(x, x.shape[2], x.shape[3])


class _Context(Protocol):
    saved_tensors: tuple[Tensor, ...]
    needs_input_grad: tuple[bool, ...]
    options: tuple[int, int, Sequence[int], float, float, float | None, bool]

    def save_for_backward(self, *tensors: Tensor | None) -> None: ...


def _remember(ctx: _Context, inputs: tuple[object, ...], output: Tensor) -> None:
    """Keep the tensors, which come first, and the seven options behind them."""
    ctx.save_for_backward(*inputs[:5])  # type: ignore[arg-type]
    ctx.options = inputs[5:]  # type: ignore[assignment]


def _backward(ctx: _Context, dy: Tensor) -> tuple[Tensor | None, ...]:
    x, tangent, fu, fd, b = ctx.saved_tensors
    dx = filter_activation_gradient(dy, x, fu, fd, b, *ctx.options)
    if tangent is not None:
        return None, dx, *[None] * 10
    db = None
    if b is not None and ctx.needs_input_grad[4]:
        wide = torch.float64 if dx.dtype == torch.float64 else torch.float32
        db = dx.sum([0, 2, 3], dtype=wide).to(b.dtype)
    return dx, None, None, None, db, *[None] * 7


def _backward_gradient(ctx: _Context, g: Tensor) -> tuple[Tensor | None, ...]:
    _, x, fu, fd, b = ctx.saved_tensors
    return filter_activation(x, g, fu, fd, b, *ctx.options), *[None] * 11


filter_activation.register_autograd(_backward, setup_context=_remember)
filter_activation_gradient.register_autograd(_backward_gradient, setup_context=_remember)


def _output_size(
    x: Tensor, fu: Tensor, fd: Tensor, up: int, down: int, padding: Sequence[int]
) -> tuple[int, int]:
    (up_x, up_y), (down_x, down_y) = filter_taps(fu), filter_taps(fd)
    width = x.shape[3] * up + padding[0] + padding[1] - up_x + 1 - down_x
    height = x.shape[2] * up + padding[2] + padding[3] - up_y + 1 - down_y
    return height // down + 1, width // down + 1


def _plan(
    x: Tensor, out: Tensor, fu: Tensor, fd: Tensor, up: int, down: int, *, is_gradient: bool
) -> MiddlePlan:
    N, C, height, width = out.shape
    return plan_middle(
        (N, C, height, width),
        Stage(up, max(filter_taps(fu)), 1 if fu.ndim == 1 else fu.shape[0]),
        Stage(down, max(filter_taps(fd)), 1 if fd.ndim == 1 else fd.shape[0]),
        find_facts(x.device),
        element_bytes=max(4, x.dtype.itemsize),
        is_channels_last=is_channels_last(x),
        is_gradient=is_gradient,
    )


def _constants(
    x: Tensor,
    fu: Tensor,
    fd: Tensor,
    b: Tensor | None,
    up: int,
    down: int,
    padding: Sequence[int],
    gain: float,
    slope: float,
    clamp: float | None,
    is_flipped: bool,
    plan: MiddlePlan,
) -> dict[str, object]:
    (up_x, up_y), (down_x, down_y) = filter_taps(fu), filter_taps(fd)
    return {
        "UP": up,
        "DOWN": down,
        "PAD_Y": padding[2],
        "PAD_X": padding[0],
        "GAIN": gain,
        "SLOPE": slope,
        "CLAMP": clamp,
        "IS_FLIPPED": is_flipped,
        "UP_TAPS_Y": up_y,
        "UP_TAPS_X": up_x,
        "UP_IS_SEPARABLE": fu.ndim == 1,
        "DOWN_TAPS_Y": down_y,
        "DOWN_TAPS_X": down_x,
        "DOWN_IS_SEPARABLE": fd.ndim == 1,
        "HAS_BIAS": b is not None,
        "PRECISION": product_precision(x),
        "COMPUTE": compute_dtype(x),
        "UNITS": plan.units,
        "BLOCK_C": plan.block_c,
        "IN": plan.in_size,
        "MIDDLE": plan.middle_size,
        "OUT": plan.out_size,
        "USED": plan.used,
        "num_warps": plan.num_warps,
    }
