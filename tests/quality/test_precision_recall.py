import pytest
import torch
from torch import Tensor

from gantune.errors import UsageError
from gantune.quality.precision_recall import ManifoldScores, manifold_scores


def brute_force(real: Tensor, fake: Tensor, k: int) -> ManifoldScores:
    def distance(a: Tensor, b: Tensor) -> float:
        return float((a - b).square().sum().sqrt())

    def radii(points: Tensor) -> list[float]:
        return [
            sorted(distance(p, q) for j, q in enumerate(points) if j != i)[k - 1]
            for i, p in enumerate(points)
        ]

    real_radii, fake_radii = radii(real), radii(fake)
    inside = [[distance(r, f) <= real_radii[i] for f in fake] for i, r in enumerate(real)]
    recalled = [any(distance(r, f) <= fake_radii[j] for j, f in enumerate(fake)) for r in real]
    num_balls = [sum(row[j] for row in inside) for j in range(len(fake))]
    return ManifoldScores(
        precision=sum(n > 0 for n in num_balls) / len(fake),
        recall=sum(recalled) / len(real),
        density=sum(num_balls) / (k * len(fake)),
        coverage=sum(any(row) for row in inside) / len(real),
    )


@pytest.mark.parametrize("k", [1, 3, 5])
@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_scores_are_those_of_brute_force(k: int, offset: float) -> None:
    generator = torch.Generator().manual_seed(k)
    real = torch.randn(40, 4, generator=generator, dtype=torch.float64) + offset
    fake = torch.randn(30, 4, generator=generator, dtype=torch.float64) * 1.5 + 0.5 + offset
    found, expected = manifold_scores(real, fake, num_neighbors=k), brute_force(real, fake, k)
    assert found.precision == pytest.approx(expected.precision)
    assert found.recall == pytest.approx(expected.recall)
    assert found.density == pytest.approx(expected.density)
    assert found.coverage == pytest.approx(expected.coverage)
    assert 0 < found.precision < 1


def test_points_on_a_line_by_hand() -> None:
    real = torch.tensor([[0.0], [1.0], [2.0], [10.0]])
    fake = torch.tensor([[0.5], [1.5], [50.0]])
    # Real radii with one neighbour: 1, 1, 1, 8. Balls [−1, 1], [0, 2], [1, 3], [2, 18].
    # 0.5 is in two, 1.5 in two, 50 in none: precision 2/3, density 4/3; three of four balls hold one.
    # Fake radii 1, 1, 48.5: [−0.5, 1.5], [0.5, 2.5], [1.5, 98.5] hold all four real points.
    assert manifold_scores(real, fake, num_neighbors=1) == ManifoldScores(
        precision=pytest.approx(2 / 3), recall=1.0, density=pytest.approx(4 / 3), coverage=0.75
    )


def test_duplicates_are_neighbours_at_distance_zero() -> None:
    point = torch.full((5, 6), 1234.567)
    scores = manifold_scores(point, point.clone(), num_neighbors=3)
    assert (scores.precision, scores.recall, scores.coverage) == (1, 1, 1)
    assert manifold_scores(point, point + 1, num_neighbors=3).precision == 0


def test_too_few_samples_are_refused() -> None:
    with pytest.raises(UsageError, match="3 samples have no 3-th neighbour"):
        manifold_scores(torch.zeros(3, 2), torch.zeros(9, 2))
