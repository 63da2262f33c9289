"""The Fréchet distance of two Gaussians, without a matrix square root that could turn complex.

d² = |μ₁ − μ₂|² + tr S₁ + tr S₂ − 2 tr (S₁^½ S₂ S₁^½)^½ (Dowson and Landau 1982; Heusel et al. 2017).
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from gantune.errors import UsageError
from gantune.quality.moments import Moments


@dataclass(frozen=True)
class FrechetDistance:
    """The distance, never negative; `raw` is what came out before it was held at 0."""

    value: float
    raw: float
    ranks: tuple[int, int]
    warnings: tuple[str, ...] = ()


def frechet_distance(a: Moments, b: Moments) -> FrechetDistance:
    """Give the squared Fréchet distance of two sets' moments, in float64; 0 for equal sets.

    The trace of the root is the sum of the singular values of S₂^½ S₁^½: these are the roots of the
    eigenvalues of the symmetric form S₁^½ S₂ S₁^½, without squaring what is to be rooted. Fewer samples than
    features is allowed and warned of. Raises `UsageError` below two samples.
    """
    if a.num_features != b.num_features:
        raise UsageError(f"the sets have {a.num_features} and {b.num_features} features; they must be equal")
    root_a, root_b = root_factor(a.covariance), root_factor(b.covariance)
    root_trace = _sum_singular_values(root_b.t() @ root_a)
    distance_of_means = (a.mean - b.mean).square().sum()
    traces = root_a.square().sum() + root_b.square().sum()
    raw = float(distance_of_means + traces - 2 * root_trace)
    ranks = (root_a.shape[1], root_b.shape[1])
    warnings = tuple(_warn_of_rank(m, rank) for m, rank in zip((a, b), ranks, strict=True))
    return FrechetDistance(max(0.0, raw), raw, ranks, tuple(dict.fromkeys(filter(None, warnings))))


def root_factor(covariance: Tensor) -> Tensor:
    """Give F [K, rank] with F·Fᵀ = covariance; directions without variance are left out.

    A direction has none where its eigenvalue is below what float64 can tell from 0.
    """
    eigenvalues, vectors = torch.linalg.eigh(covariance)
    noise = torch.finfo(torch.float64).eps * len(covariance) * eigenvalues.abs().max()
    is_kept = eigenvalues > noise
    kept: Tensor = vectors[:, is_kept] * eigenvalues[is_kept].sqrt()
    return kept


def _sum_singular_values(matrix: Tensor) -> Tensor:
    if 0 in matrix.shape:
        return matrix.new_zeros(())
    total: Tensor = torch.linalg.svdvals(matrix).sum()
    return total


def _warn_of_rank(moments: Moments, rank: int) -> str:
    if moments.n > moments.num_features:
        return ""
    return (
        f"{moments.n:,} images for {moments.num_features:,} features: the covariance has rank {rank}, and "
        "the distance is biased upward; compare only with the same number of images"
    )
