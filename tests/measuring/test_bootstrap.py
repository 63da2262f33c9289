import numpy as np
import pytest

from gantune.errors import UsageError
from gantune.measuring.bootstrap import bootstrap_median


def test_the_interval_holds_the_true_median_about_as_often_as_it_says() -> None:
    generator = np.random.default_rng(0)
    hits = 0
    for seed in range(200):
        interval = bootstrap_median(generator.lognormal(0, 0.2, 15).tolist(), num_resamples=500, seed=seed)
        assert interval.low <= interval.median <= interval.high
        hits += interval.low <= 1.0 <= interval.high
    # 95 % nominal; four standard errors of 200 draws below it is 88.8 %.
    assert hits >= 178


def test_equal_values_have_no_width() -> None:
    interval = bootstrap_median([2.0] * 15)
    assert (interval.median, interval.low, interval.high) == (2.0, 2.0, 2.0)


def test_one_spike_moves_the_median_nowhere() -> None:
    interval = bootstrap_median([1.0] * 14 + [100.0])
    assert interval.median == 1.0
    assert interval.high == 1.0


def test_no_values_are_refused() -> None:
    with pytest.raises(UsageError, match="no values"):
        bootstrap_median([])
