import numpy as np
import pytest

from gantune.errors import UsageError
from gantune.quality.difference import judge, paired_difference, resample_means


@pytest.mark.parametrize(
    ("low", "high", "is_lower_better", "verdict"),
    [
        (-2, -1, True, "better"),
        (-2, -1, False, "worse"),
        (1, 2, True, "worse"),
        (1, 2, False, "better"),
        (-1, 2, True, "no difference shown"),
        (0, 0, True, "no difference shown"),
    ],
)
def test_a_verdict_needs_an_interval_without_zero(
    low: float, high: float, is_lower_better: bool, verdict: str
) -> None:
    assert judge(low, high, is_lower_better=is_lower_better) == verdict


@pytest.mark.slow
def test_intervals_of_no_difference_cover_zero_in_nearly_all_repeats() -> None:
    generator = np.random.default_rng(0)
    covered = 0
    for repeat in range(100):
        old = generator.standard_normal(200)
        new = old + 0.1 * generator.standard_normal(200)
        found = paired_difference(new, old, is_lower_better=True, num_resamples=500, seed=repeat)
        covered += found.low <= 0 <= found.high
    assert 90 <= covered < 100


def test_a_small_difference_is_seen_because_the_pairs_share_their_noise() -> None:
    old = 100 * np.random.default_rng(0).standard_normal(500)
    found = paired_difference(old + 0.01, old, is_lower_better=True)
    assert found.verdict == "worse"
    assert found.value == pytest.approx(0.01)


def test_resampled_means_have_the_spread_of_a_mean() -> None:
    values = np.random.default_rng(1).standard_normal((400, 2))
    means = resample_means(values, num_resamples=3000, seed=0)
    assert means.shape == (3000, 2)
    assert np.allclose(means.std(axis=0), values.std(axis=0) / 20, rtol=0.05)


def test_unpaired_values_are_refused() -> None:
    with pytest.raises(UsageError, match=r"\[3\] and \[4\]"):
        paired_difference(np.zeros(3), np.zeros(4), is_lower_better=True)
