import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torchmetrics.image.fid import FrechetInceptionDistance

from gantune.errors import QualityError, UsageError
from gantune.quality.frechet import frechet_distance
from gantune.quality.moments import Moments


class Flat(nn.Module):
    num_features = 48

    def forward(self, images: Tensor) -> Tensor:
        return images.reshape(len(images), -1)


def features(n: int, seed: int, *, offset: float = 0.0, scale: float = 1.0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    mixed = torch.randn(n, 48, generator=generator) @ torch.randn(
        48, 48, generator=torch.Generator().manual_seed(99)
    )
    return mixed.double() * scale + offset


def torchmetrics_fid(real: Tensor, fake: Tensor) -> float:
    metric = FrechetInceptionDistance(feature=Flat(), normalize=True).set_dtype(torch.float64)
    metric.update(real.reshape(-1, 3, 4, 4), real=True)
    metric.update(fake.reshape(-1, 3, 4, 4), real=False)
    return float(metric.compute())


def distance(real: Tensor, fake: Tensor) -> float:
    return frechet_distance(Moments.of(real), Moments.of(fake)).value


CASES = {
    "plenty": (features(300, 0), features(400, 1, scale=1.2)),
    "fewer than features": (features(20, 0), features(30, 1, scale=1.2)),
    "far from zero": (features(300, 0, offset=1e3), features(300, 1, offset=1e3 + 0.5)),
    "duplicates": (features(10, 0).repeat(30, 1), features(200, 1)),
}


@pytest.mark.parametrize("case", CASES)
def test_the_distance_is_that_of_torchmetrics(case: str) -> None:
    real, fake = CASES[case]
    assert distance(real, fake) == pytest.approx(torchmetrics_fid(real, fake), rel=1e-4)


def test_two_gaussians_on_axes_have_the_closed_form() -> None:
    # Means 3 apart, variances (4, 9) and (1, 16): 3² + (2 − 1)² + (3 − 4)² = 11.
    a = Moments.restore(10, torch.zeros(2), torch.diag(torch.tensor([4.0, 9.0])))
    b = Moments.restore(10, torch.tensor([3.0, 0.0]), torch.diag(torch.tensor([1.0, 16.0])))
    assert frechet_distance(a, b).value == pytest.approx(11, abs=1e-12)


@pytest.mark.parametrize("n", [5, 48, 500])
def test_equal_sets_are_at_distance_zero_whatever_their_rank(n: int) -> None:
    moments = Moments.of(features(n, 3, offset=1e3))
    result = frechet_distance(moments, moments)
    assert 0 <= result.value < 1e-6
    assert abs(result.raw) < 1e-6


def test_constant_images_have_a_finite_distance() -> None:
    constant = torch.ones(10, 48)
    assert distance(constant, constant) == 0
    assert np.isfinite(distance(constant, features(100, 0)))


@pytest.mark.parametrize("size", [64, pytest.param(2048, marks=pytest.mark.slow)])
def test_random_covariances_agree_with_the_eigenvalues_of_their_product(size: int) -> None:
    generator = torch.Generator().manual_seed(size)
    factors = [torch.randn(size, size + 8, generator=generator, dtype=torch.float64) for _ in range(2)]
    a, b = (factor @ factor.t() / size for factor in factors)
    mean = torch.zeros(size, dtype=torch.float64)
    # The trace of the root of the product, from the general (not symmetric) eigenvalue problem.
    root_trace = float(torch.linalg.eigvals(a @ b).sqrt().real.sum())
    expected = float(a.trace() + b.trace()) - 2 * root_trace
    found = frechet_distance(Moments.restore(9999, mean, a), Moments.restore(9999, mean, b))
    assert found.value == pytest.approx(expected, rel=1e-4)


def test_too_few_images_are_warned_of_with_the_rank() -> None:
    result = frechet_distance(Moments.of(features(20, 0)), Moments.of(features(300, 1)))
    assert result.ranks == (19, 48)
    (warning,) = result.warnings
    assert "20 images for 48 features" in warning
    assert "rank 19" in warning


def test_one_image_is_refused_clearly() -> None:
    with pytest.raises(UsageError, match="at least 2 images; 1 was given"):
        distance(features(1, 0), features(10, 1))


def test_features_that_are_not_finite_are_refused() -> None:
    with pytest.raises(QualityError, match="NaN"):
        Moments.of(torch.full((4, 3), torch.nan))
