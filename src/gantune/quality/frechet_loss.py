"""`frechet_loss`: how much farther an optimized network's images are, relative to the original's distance.

The distance is a smooth function of the moments, so each image has an influence on it: the derivative of the
distance along that image (Hampel 1974). The bootstrap resamples pairs of influences, which costs one matrix
product instead of one eigenvalue problem a resample, and adds no bias of its own.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gantune.errors import UsageError
from gantune.quality.difference import interval, judge, resample_means
from gantune.quality.frechet import frechet_distance, root_factor
from gantune.quality.moments import Moments
from gantune.records.score import Difference

MIN_IMAGES_FOR_A_CLAIM = 10_000

_METHOD = "paired bootstrap of the distance's first-order influence"


@dataclass(frozen=True)
class FrechetLoss:
    """The relative loss with its interval; `difference` is FD_new − FD_old, both given beside it.

    `claim` is the upper end of the interval. `warnings` say where the images are too few for a claim.
    """

    value: float
    low: float
    high: float
    old: float
    new: float
    difference: Difference
    warnings: tuple[str, ...]

    @property
    def claim(self) -> float:
        """Give the loss that may be claimed: the upper end of the interval."""
        return self.high


def frechet_loss(new: Tensor, old: Tensor, reference: Moments, *, seed: int = 0) -> FrechetLoss:
    """Give (FD_new − FD_old) / FD_old against reference data.

    `new` and `old` are features [N, K] of both networks on the same latents, row by row.
    """
    return _compare(new, old, reference, None, seed=seed)


def frechet_loss_without_reference(
    new_a: Tensor, old_a: Tensor, old_b: Tensor, *, seed: int = 0
) -> FrechetLoss:
    """Give [FD(new(A), old(B)) − FD(old(A), old(B))] / FD(old(A), old(B)) for disjoint latent sets A, B."""
    return _compare(new_a, old_a, Moments.of(old_b), old_b, seed=seed)


def _compare(
    new: Tensor, old: Tensor, reference: Moments, second: Tensor | None, *, seed: int
) -> FrechetLoss:
    if new.shape != old.shape:
        raise UsageError(f"new features are {list(new.shape)}, old {list(old.shape)}; they must be paired")
    new_moments, old_moments = Moments.of(new), Moments.of(old)
    new_distance = frechet_distance(new_moments, reference)
    old_distance = frechet_distance(old_moments, reference)
    if old_distance.value == 0:
        raise UsageError(
            "The original's distance is 0, so that no loss relative to it exists: the sets A and B are the "
            "same. Use disjoint latents."
        )
    columns = [influence(new, new_moments, reference), influence(old, old_moments, reference)]
    noise = resample_means(np.stack(columns, axis=1), num_resamples=2000, seed=seed)
    if second is not None:
        pair = [influence(second, reference, new_moments), influence(second, reference, old_moments)]
        noise = noise + resample_means(np.stack(pair, axis=1), num_resamples=2000, seed=seed + 1)
    gap = new_distance.value - old_distance.value
    gaps = gap + noise[:, 0] - noise[:, 1]
    ratios = gaps / np.maximum(old_distance.value + noise[:, 1], np.finfo(np.float64).tiny)
    low, high = interval(gaps)
    ratio_low, ratio_high = interval(ratios)
    return FrechetLoss(
        value=gap / old_distance.value,
        low=ratio_low,
        high=ratio_high,
        old=old_distance.value,
        new=new_distance.value,
        difference=Difference(
            value=gap, low=low, high=high, n=len(new), method=_METHOD,
            verdict=judge(low, high, is_lower_better=True),
        ),
        warnings=_warn(len(new), new.shape[1]),
    )  # fmt: skip


def influence(features: Tensor, moments: Moments, other: Moments) -> NDArray[np.float64]:
    """Give each row's influence [N] on the distance of `features` [N, K] (with `moments`) from `other`.

    For x less the mean μ: 2(μ − μ')ᵀx + xᵀ(I − T)x, less its average, where T is the linear map that carries
    the one Gaussian onto the other; it is applied to whitened x, so that small variances do no harm.
    """
    factor = root_factor(moments.covariance)
    centered = features.detach().double() - moments.mean
    whitened = centered @ (factor / factor.square().sum(dim=0))  # [N, rank]
    eigenvalues, vectors = torch.linalg.eigh(factor.t() @ other.covariance @ factor)
    transported = (whitened @ vectors).square() @ eigenvalues.clamp(min=0).sqrt()
    values = 2 * centered @ (moments.mean - other.mean) + centered.square().sum(dim=1) - transported
    return np.asarray((values - values.mean()).numpy(), dtype=np.float64)


def _warn(n: int, num_features: int) -> tuple[str, ...]:
    if n > num_features and n >= MIN_IMAGES_FOR_A_CLAIM:
        return ()
    needed = max(MIN_IMAGES_FOR_A_CLAIM, num_features + 1)
    return (f"{n:,} images are too few for a claim about the Fréchet loss; {needed:,} are needed",)
