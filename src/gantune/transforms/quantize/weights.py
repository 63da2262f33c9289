"""Put weights on a grid: one scale for the tensor or one for each output channel."""

from typing import Literal

import torch
from torch import Tensor

from gantune.transforms.quantize.scheme import Grid, Scheme, fit_grid

Clipping = Literal["min_max", "mse"]
_SHRINKS = torch.linspace(0.2, 1.0, 81)


def fit_weight_grid(weight: Tensor, scheme: Scheme, *, axis: int, clipping: Clipping = "mse") -> Grid:
    """Return the grid of a weight whose output channels stand along `axis`.

    `mse` also tries narrower ranges and keeps, for each scale, the one with the least squared error; for two
    symmetric bits that is the best ternary weight. One bit is ±mean|w| (Rastegari et al., arXiv 1603.05279).
    """
    channel_axis = axis if scheme.granularity == "per_channel" else None
    rows = (
        weight.detach().movedim(axis, 0).flatten(1)
        if channel_axis is not None
        else weight.detach().reshape(1, -1)
    )
    if scheme.bits == 1 and scheme.symmetry == "symmetric":
        scale = rows.abs().mean(dim=1)
        scale = torch.where(scale > 0, scale, torch.ones_like(scale))
        return _as_grid(scale, torch.zeros_like(scale), scheme, channel_axis)
    low, high = rows.amin(dim=1), rows.amax(dim=1)
    best = fit_grid(low, high, scheme, axis=0)
    if clipping == "mse":
        least = _squared_errors(rows, best)
        for factor in _SHRINKS.tolist():
            grid = fit_grid(low * factor, high * factor, scheme, axis=0)
            errors = _squared_errors(rows, grid)
            is_better = errors < least
            scale = torch.where(is_better, grid.scale, best.scale)
            zero_point = torch.where(is_better, grid.zero_point, best.zero_point)
            best, least = Grid(scale, zero_point, scheme.low, scheme.high, 0), torch.minimum(errors, least)
    return _as_grid(best.scale, best.zero_point, scheme, channel_axis)


def round_weight(weight: Tensor, grid: Grid, scheme: Scheme) -> Tensor:
    """Return the weight on its grid; one symmetric bit has no zero, so it takes the sign."""
    if scheme.bits == 1 and scheme.symmetry == "symmetric":
        return torch.where(weight >= 0, 1.0, -1.0) * grid.shaped(grid.scale, weight.ndim)
    return grid.dequantize(grid.quantize(weight))


def _squared_errors(rows: Tensor, grid: Grid) -> Tensor:
    return (grid.dequantize(grid.quantize(rows)) - rows).square().sum(dim=1)


def _as_grid(scale: Tensor, zero_point: Tensor, scheme: Scheme, axis: int | None) -> Grid:
    if axis is None:
        scale, zero_point = scale[0], zero_point[0]
    return Grid(scale, zero_point, scheme.low, scheme.high, axis)
