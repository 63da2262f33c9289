from typing import get_args

import pytest
import torch

from gantune.errors import UsageError
from gantune.transforms.quantize.observers import OBSERVERS, Observer, choose_range
from gantune.transforms.quantize.scheme import Scheme, fit_grid
from gantune.transforms.quantize.statistics import TensorStatistics

EIGHT = Scheme(bits=8, symmetry="asymmetric")
FOUR = Scheme(bits=4, symmetry="asymmetric")


def normal_with_outlier() -> tuple[torch.Tensor, TensorStatistics]:
    x = torch.randn(200_000, generator=torch.Generator().manual_seed(0))
    x[0] = 60.0
    statistics = TensorStatistics()
    statistics.observe(x)
    return x, statistics


def error(x: torch.Tensor, span: tuple[float, float], scheme: Scheme) -> float:
    grid = fit_grid(torch.tensor(span[0]), torch.tensor(span[1]), scheme)
    return float((grid.dequantize(grid.quantize(x)) - x).square().mean())


def test_every_observer_is_listed() -> None:
    assert set(OBSERVERS) == set(get_args(Observer))


def test_min_max_takes_the_outlier() -> None:
    x, statistics = normal_with_outlier()
    assert choose_range(statistics, EIGHT, "min_max") == (float(x.min()), 60.0)


def test_percentile_cuts_one_in_ten_thousand_a_side() -> None:
    _, statistics = normal_with_outlier()
    low, high = choose_range(statistics, EIGHT, "percentile")
    # The standard normal distribution has 1e-4 of its mass beyond 3.719.
    assert low == pytest.approx(-3.719, abs=0.2)
    assert high == pytest.approx(3.719, abs=0.2)


# At 8 bits the outlier's own error weighs more than the finer steps gain, so the cut is small.
@pytest.mark.parametrize(("scheme", "share"), [(EIGHT, 0.9), (FOUR, 0.3), (Scheme(bits=4), 0.3)])
def test_mse_rounds_better_than_min_max(scheme: Scheme, share: float) -> None:
    x, statistics = normal_with_outlier()
    best = error(x, choose_range(statistics, scheme, "mse"), scheme)
    assert best < share * error(x, choose_range(statistics, scheme, "min_max"), scheme)


def test_entropy_leaves_the_outlier_out_at_4_bits() -> None:
    _, statistics = normal_with_outlier()
    low, high = choose_range(statistics, FOUR, "entropy")
    assert -6 < low < 0 < high < 20


def test_a_tensor_of_zeros_has_no_range() -> None:
    statistics = TensorStatistics()
    statistics.observe(torch.zeros(4))
    for observer in OBSERVERS:
        low, high = choose_range(statistics, EIGHT, observer)
        assert low == high == 0


def test_an_unknown_observer_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"no observer 'median'.*min_max.*entropy"):
        choose_range(TensorStatistics(), EIGHT, "median")  # type: ignore[arg-type]
