"""Observers: from what calibration saw of a tensor to the range that its integers cover.

`min_max` takes the extremes, `moving_average` their moving average (Jacob et al., arXiv 1712.05877),
`percentile` cuts 0.01 % of the values off, `mse` minimizes the squared rounding and clipping error, and
`entropy` the Kullback-Leibler divergence between the distributions before and after (Migacz, 8-bit Inference
with TensorRT, GTC 2017).
"""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

from gantune.errors import UsageError
from gantune.transforms.quantize.scheme import Scheme, fit_grid
from gantune.transforms.quantize.statistics import TensorStatistics

Observer = Literal["min_max", "moving_average", "percentile", "mse", "entropy"]
_CUT = 1e-4
_SHRINKS = torch.linspace(0.2, 1.0, 81, dtype=torch.float64)
Range = tuple[float, float]


def choose_range(statistics: TensorStatistics, scheme: Scheme, observer: Observer) -> Range:
    """Return the range [low, high] for a tensor; raise `UsageError` for an unknown observer."""
    if observer not in OBSERVERS:
        raise UsageError(f"There is no observer {observer!r}; there are: {', '.join(OBSERVERS)}.")
    return OBSERVERS[observer](statistics, scheme)


def _min_max(statistics: TensorStatistics, scheme: Scheme) -> Range:
    return statistics.low, statistics.high


def _moving_average(statistics: TensorStatistics, scheme: Scheme) -> Range:
    return statistics.average_low, statistics.average_high


def _percentile(statistics: TensorStatistics, scheme: Scheme) -> Range:
    cumulative = statistics.histogram.cumsum(0)
    total = float(cumulative[-1])
    if total == 0:
        return 0.0, 0.0
    centers = statistics.centers
    first = int(torch.searchsorted(cumulative, torch.tensor(total * _CUT, dtype=torch.float64)))
    last = int(torch.searchsorted(cumulative, torch.tensor(total * (1 - _CUT), dtype=torch.float64)))
    return float(centers[first]), float(centers[min(last, len(centers) - 1)])


def _mse(statistics: TensorStatistics, scheme: Scheme) -> Range:
    return _search(statistics, scheme, _squared_error)


def _entropy(statistics: TensorStatistics, scheme: Scheme) -> Range:
    return _search(statistics, scheme, _divergence)


Cost = Callable[[Tensor, Tensor, Range, Scheme], float]


def _search(statistics: TensorStatistics, scheme: Scheme, cost: Cost) -> Range:
    """Shrink the upper end, then the lower, to where the cost is least."""
    weights, centers = statistics.histogram, statistics.centers
    low, high = statistics.low, statistics.high
    if scheme.symmetry == "symmetric":
        low, high = min(low, -high), max(high, -low)
        ranges = [(low * factor, high * factor) for factor in _SHRINKS.tolist()]
        return min(ranges, key=lambda span: cost(weights, centers, span, scheme))
    uppers = [(low, high * factor) for factor in _SHRINKS.tolist()]
    _, high = min(uppers, key=lambda span: cost(weights, centers, span, scheme))
    lowers = [(low * factor, high) for factor in _SHRINKS.tolist()]
    return min(lowers, key=lambda span: cost(weights, centers, span, scheme))


def _squared_error(weights: Tensor, centers: Tensor, span: Range, scheme: Scheme) -> float:
    low, high = (torch.tensor(end, dtype=torch.float64) for end in span)
    grid = fit_grid(low, high, scheme)
    error = grid.dequantize(grid.quantize(centers)) - centers
    return float((weights * error.square()).sum())


def _divergence(weights: Tensor, centers: Tensor, span: Range, scheme: Scheme) -> float:
    """Compare the clipped distribution with the one whose bins share the mass of their integer equally."""
    low, high = (torch.tensor(end, dtype=torch.float64) for end in span)
    grid = fit_grid(low, high, scheme)
    codes = (grid.quantize(centers) - scheme.low).long()
    is_inside = (centers >= low) & (centers <= high)
    inside = torch.where(is_inside, weights, torch.zeros_like(weights))
    if float(inside.sum()) == 0:
        return float("inf")
    before = inside.clone()
    indices = torch.nonzero(is_inside).flatten()
    before[indices[0]] += weights[: indices[0]].sum()
    before[indices[-1]] += weights[indices[-1] + 1 :].sum()
    size = scheme.high - scheme.low + 1
    mass = torch.zeros(size, dtype=torch.float64).index_add(0, codes, inside)
    used = torch.zeros(size, dtype=torch.float64).index_add(0, codes, (before > 0).double())
    after = torch.where(before > 0, (mass / used.clamp(min=1))[codes], torch.zeros_like(before))
    p, q = before / before.sum(), after / after.sum()
    is_used = p > 0
    return float((p[is_used] * torch.log(p[is_used] / q[is_used].clamp(min=1e-12))).sum())


OBSERVERS: dict[Observer, Callable[[TensorStatistics, Scheme], Range]] = {
    "min_max": _min_max,
    "moving_average": _moving_average,
    "percentile": _percentile,
    "mse": _mse,
    "entropy": _entropy,
}
