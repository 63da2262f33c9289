"""The operator that rounds a tensor to a grid; exports know it by name and turn it into integers."""

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
