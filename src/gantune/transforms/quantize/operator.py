"""The operator that rounds a tensor to a grid; exports know it by name and turn it into integers.

It is a staircase, whose slope is 0 almost everywhere. Training takes the straight-through gradient instead
(Bengio et al., arXiv 1308.3432), and for the step s that of learned step size quantization (Esser et al.,
arXiv 1902.08153, equations 3 to 5), here with a zero point z, v = x/s + z and integers from l to h:

| where | ∂/∂x | ∂/∂s |
|---|---|---|
| l ≤ v ≤ h | 1 | round(x/s) − x/s |
| v < l | 0 | l − z |
| v > h | 0 | h − z |
"""

from typing import Any

import torch
from torch import Tensor

from gantune.transforms.quantize.scheme import Grid


@torch.library.custom_op("gantune::quantize_dequantize", mutates_args=())
def quantize_dequantize(
    x: Tensor, scale: Tensor, zero_point: Tensor, axis: int, low: int, high: int
) -> Tensor:
    """Return x rounded to (integer − zero_point)·scale with integers in [low, high].

    `axis` −1 means one scale for the tensor; else `scale` and `zero_point` are vectors along that axis.
    """
    grid = Grid(scale, zero_point, low, high, None if axis < 0 else axis)
    return grid.dequantize(grid.quantize(x))


@quantize_dequantize.register_fake
def _shape_of_result(x: Tensor, scale: Tensor, zero_point: Tensor, axis: int, low: int, high: int) -> Tensor:
    return torch.empty_like(x)


def _keep_for_gradients(
    ctx: Any, inputs: tuple[Tensor, Tensor, Tensor, int, int, int], output: Tensor
) -> None:
    x, scale, zero_point, axis, low, high = inputs
    ctx.save_for_backward(x, scale, zero_point)
    ctx.axis, ctx.low, ctx.high = None if axis < 0 else axis, low, high


def _differentiate(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, None, None, None, None]:
    x, scale, zero_point = ctx.saved_tensors
    grid = Grid(scale, zero_point, ctx.low, ctx.high, ctx.axis)
    zero = grid.shaped(zero_point, x.ndim)
    steps = x / grid.shaped(scale, x.ndim)
    is_below, is_above = steps + zero < ctx.low, steps + zero > ctx.high
    of_x = gradient.masked_fill(is_below | is_above, 0) if ctx.needs_input_grad[0] else None
    if not ctx.needs_input_grad[1]:
        return of_x, None, None, None, None, None
    slope = torch.where(is_below, ctx.low - zero, torch.round(steps) - steps)
    slope = torch.where(is_above, ctx.high - zero, slope)
    others = [axis for axis in range(x.ndim) if axis != ctx.axis]
    of_scale = (gradient * slope).sum(dim=others).reshape(scale.shape)
    return of_x, of_scale, None, None, None, None


quantize_dequantize.register_autograd(_differentiate, setup_context=_keep_for_gradients)
