import numpy as np
import pytest
import torch
from torch import Tensor

from gantune.errors import UsageError
from gantune.quality.frechet import frechet_distance
from gantune.quality.frechet_loss import frechet_loss, frechet_loss_without_reference, influence
from gantune.quality.moments import Moments


def draw(n: int, seed: int, k: int = 8) -> Tensor:
    return torch.randn(n, k, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_the_loss_is_the_ratio_of_the_distances() -> None:
    old, new, reference = draw(300, 0), draw(300, 0) * 1.3, Moments.of(draw(300, 1) + 1)
    before = frechet_distance(Moments.of(old), reference).value
    after = frechet_distance(Moments.of(new), reference).value
    found = frechet_loss(new, old, reference)
    assert found.value == pytest.approx((after - before) / before)
    assert found.difference.value == pytest.approx(after - before)
    assert (found.old, found.new) == (before, after)
    assert found.low < found.value < found.high == found.claim


def test_without_reference_the_originals_other_half_stands_in() -> None:
    old_a, old_b, new_a = draw(300, 0), draw(300, 1), draw(300, 0) + 0.5
    found = frechet_loss_without_reference(new_a, old_a, old_b)
    before = frechet_distance(Moments.of(old_a), Moments.of(old_b)).value
    after = frechet_distance(Moments.of(new_a), Moments.of(old_b)).value
    assert found.value == pytest.approx((after - before) / before)
    assert found.difference.verdict == "worse"


def test_an_influence_is_the_derivative_of_the_distance_toward_one_sample() -> None:
    values, other = draw(60, 0, k=4), Moments.of(draw(80, 1, k=4) * 1.5 + 0.3)
    n = len(values)
    # A mixture (1 − ε)·P + ε·δ at one sample, from the moments with n below the covariance.
    mean, covariance = values.mean(dim=0), torch.cov(values.t(), correction=0)
    found = influence(values, Moments.restore(n, mean, covariance), other)
    for index in (0, 7, 31):
        gap = values[index] - mean
        epsilon = 1e-5
        shifted = Moments.restore(
            n,
            mean + epsilon * gap,
            (1 - epsilon) * covariance + epsilon * (1 - epsilon) * torch.outer(gap, gap),
        )
        start = Moments.restore(n, mean, covariance)
        slope = (frechet_distance(shifted, other).value - frechet_distance(start, other).value) / epsilon
        assert found[index] == pytest.approx(slope, rel=1e-3, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("has_reference", [True, False])
def test_intervals_of_no_difference_cover_zero_in_nearly_all_repeats(has_reference: bool) -> None:
    covered = 0
    for repeat in range(100):
        old, fresh, other = (draw(250, 3 * repeat + part) for part in range(3))
        # Another generator of the very same distribution, correlated with the first by its latents.
        new = np.sqrt(0.75) * old + 0.5 * fresh
        if has_reference:
            found = frechet_loss(new, old, Moments.of(other * 1.2 + 0.3), seed=repeat)
        else:
            found = frechet_loss_without_reference(new, old, other, seed=repeat)
        covered += found.difference.low <= 0 <= found.difference.high
    assert covered >= 90


def test_the_same_features_lose_nothing_and_show_no_difference() -> None:
    found = frechet_loss(draw(100, 0), draw(100, 0), Moments.of(draw(100, 1)))
    assert (found.value, found.low, found.high) == (0, 0, 0)
    assert found.difference.verdict == "no difference shown"


def test_too_few_images_for_a_claim_are_warned_of() -> None:
    (warning,) = frechet_loss(draw(50, 0), draw(50, 0), Moments.of(draw(50, 1))).warnings
    assert "10,000 are needed" in warning


def test_sets_that_are_the_same_have_no_relative_loss() -> None:
    constant = torch.ones(10, 3)
    with pytest.raises(UsageError, match="disjoint latents"):
        frechet_loss_without_reference(constant + 1, constant, constant)
