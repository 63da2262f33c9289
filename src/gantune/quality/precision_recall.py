"""Fidelity and diversity from nearest neighbours: precision, recall, density, coverage."""

from dataclasses import dataclass

import torch
from torch import Tensor

from gantune.errors import UsageError

_BLOCK = 1024
# Squared distances below this share of the squared norms are rounding: the points are the same.
_ROUNDING = 1e-13


@dataclass(frozen=True)
class ManifoldScores:
    """Precision and recall (Kynkäänniemi et al. 2019), density and coverage (Naeem et al. 2020)."""

    precision: float
    recall: float
    density: float
    coverage: float


def manifold_scores(real: Tensor, fake: Tensor, *, num_neighbors: int = 3) -> ManifoldScores:
    """Compare real features [N, K] with generated ones [M, K].

    A sample's neighbourhood is the closed ball out to its `num_neighbors`-th nearest other sample of its own
    set. Precision is the share of generated samples in a real ball, recall of real samples in a generated
    one, coverage of real balls that hold a generated sample; density counts the real balls a generated sample
    is in, over `num_neighbors`. Raises `UsageError` where a set is not larger than `num_neighbors`.
    """
    smallest = min(len(real), len(fake))
    if num_neighbors < 1 or smallest <= num_neighbors:
        raise UsageError(
            f"{smallest} samples have no {num_neighbors}-th neighbour each; give more than that in both sets"
        )
    # Distances do not change with the origin; one inside the data keeps their digits.
    origin = real[:1].double()
    a, b = real.double() - origin, fake.double() - origin
    real_radii, fake_radii = _squared_radii(a, num_neighbors), _squared_radii(b, num_neighbors)
    num_balls = torch.zeros(len(b), dtype=torch.float64)
    is_covered, is_recalled = [], []
    for start in range(0, len(a), _BLOCK):
        distances = _squared_distances(a[start : start + _BLOCK], b)  # [rows, M]
        in_real_ball = distances <= real_radii[start : start + _BLOCK, None]
        num_balls += in_real_ball.sum(dim=0)
        is_covered.append(in_real_ball.any(dim=1))
        is_recalled.append((distances <= fake_radii).any(dim=1))
    return ManifoldScores(
        precision=float((num_balls > 0).double().mean()),
        recall=float(torch.cat(is_recalled).double().mean()),
        density=float(num_balls.mean() / num_neighbors),
        coverage=float(torch.cat(is_covered).double().mean()),
    )


def _squared_radii(points: Tensor, num_neighbors: int) -> Tensor:
    radii = []
    for start in range(0, len(points), _BLOCK):
        distances = _squared_distances(points[start : start + _BLOCK], points)
        # The nearest of all is the point itself.
        radii.append(distances.kthvalue(num_neighbors + 1, dim=1).values)
    return torch.cat(radii)


def _squared_distances(a: Tensor, b: Tensor) -> Tensor:
    norms = a.square().sum(dim=1)[:, None] + b.square().sum(dim=1)
    distances = norms - 2 * a @ b.t()
    return torch.where(distances <= _ROUNDING * norms, 0.0, distances)
