"""The kernel distance KID (Bińkowski et al. 2018): the squared MMD under a cubic kernel, without bias."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gantune.errors import UsageError
from gantune.quality.difference import interval, judge
from gantune.records.score import Difference


@dataclass(frozen=True, kw_only=True)
class KernelOptions:
    """Draw `num_subsets` subsets of `subset_size` from each set; a smaller set shortens them to itself."""

    subset_size: int = 1000
    num_subsets: int = 100
    seed: int = 0

    def __post_init__(self) -> None:
        if self.subset_size < 2 or self.num_subsets < 1:
            raise UsageError(
                f"subset_size is {self.subset_size} and num_subsets {self.num_subsets}; at least 2 and 1"
            )


@dataclass(frozen=True)
class KernelDistance:
    """The mean over subsets; the interval is None for a single subset.

    The interval holds for the mean of all images: subsets spread as √(n / subset size) times that mean does
    (subsampling, Politis and Romano 1994).
    """

    value: float
    low: float | None
    high: float | None
    subset_size: int


def kernel_distance(a: Tensor, b: Tensor, options: KernelOptions | None = None) -> KernelDistance:
    """Give the KID of features [N, K] and [M, K]; it may be slightly negative where the sets are alike."""
    options = options or KernelOptions()
    size = _subset_size(options, a, b)
    values = np.array([_mmd(a[i], b[j]) for i, j in _draw_subsets(options, size, len(a), len(b))])
    mean = float(values.mean())
    if len(values) == 1:
        return KernelDistance(mean, None, None, size)
    low, high = interval(mean + (values - mean) * _shrink(size, a, b))
    return KernelDistance(mean, low, high, size)


def kernel_difference(
    new: Tensor, old: Tensor, reference: Tensor, options: KernelOptions | None = None
) -> Difference:
    """Give KID(new) − KID(old) against `reference`; both take the same subsets, row by row paired."""
    if new.shape != old.shape:
        raise UsageError(f"new features are {list(new.shape)}, old {list(old.shape)}; they must be paired")
    options = options or KernelOptions()
    size = _subset_size(options, new, reference)
    subsets = list(_draw_subsets(options, size, len(new), len(reference)))
    values = np.array([_mmd(new[i], reference[j]) - _mmd(old[i], reference[j]) for i, j in subsets])
    mean = float(values.mean())
    low, high = interval(mean + (values - mean) * _shrink(size, new, reference))
    return Difference(
        value=mean,
        low=low,
        high=high,
        n=len(new),
        verdict=judge(low, high, is_lower_better=True),
        method=f"paired subsampling, {len(values)} subsets of {size}",
    )


def _subset_size(options: KernelOptions, a: Tensor, b: Tensor) -> int:
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1] or min(len(a), len(b)) < 2:
        raise UsageError(
            f"features have shapes {list(a.shape)} and {list(b.shape)}; KID takes [N, K] and [M, K], N and M "
            "at least 2"
        )
    return min(options.subset_size, len(a), len(b))


def _draw_subsets(options: KernelOptions, size: int, n: int, m: int) -> list[tuple[Tensor, Tensor]]:
    generator = np.random.default_rng(options.seed)
    # One subset of everything is the whole estimate; more of them would repeat it.
    count = 1 if size == n == m else options.num_subsets
    return [
        (
            torch.from_numpy(generator.choice(n, size, replace=False)),
            torch.from_numpy(generator.choice(m, size, replace=False)),
        )
        for _ in range(count)
    ]


def _shrink(size: int, a: Tensor, b: Tensor) -> float:
    return float(np.sqrt(size / min(len(a), len(b))))


def _mmd(a: Tensor, b: Tensor) -> float:
    within = _mean_off_diagonal(a) + _mean_off_diagonal(b)
    return float(within - 2 * _kernel(a, b).mean())


def _mean_off_diagonal(features: Tensor) -> Tensor:
    kernel = _kernel(features, features)
    return (kernel.sum() - kernel.diagonal().sum()) / (len(features) * (len(features) - 1))


def _kernel(a: Tensor, b: Tensor) -> Tensor:
    return (a.double() @ b.double().t() / a.shape[1] + 1) ** 3
