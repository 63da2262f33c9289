import pytest
import torch

from gantune.errors import UsageError
from gantune.transforms.quantize.statistics import TensorStatistics


def test_a_growing_range_loses_no_count() -> None:
    statistics = TensorStatistics()
    generator = torch.Generator().manual_seed(0)
    for factor in (1.0, 7.0, 0.5, 300.0):
        statistics.observe(torch.randn(1000, generator=generator) * factor)
    assert float(statistics.histogram.sum()) == 4000
    assert statistics.limit >= max(-statistics.low, statistics.high)


def test_doubling_the_limit_merges_pairs_of_bins() -> None:
    statistics = TensorStatistics()
    statistics.observe(torch.tensor([1.0, -1.0, 0.5]))
    statistics.observe(torch.tensor([2.0]))
    assert statistics.limit == 2.0
    held = statistics.centers[statistics.histogram > 0]
    assert torch.allclose(held, torch.tensor([-1.0, 0.5, 1.0, 2.0], dtype=torch.float64), atol=2e-3)


def test_extremes_and_their_moving_average() -> None:
    statistics = TensorStatistics()
    statistics.observe(torch.tensor([-1.0, 2.0]))
    statistics.observe(torch.tensor([-3.0, 1.0]))
    assert (statistics.low, statistics.high) == (-3.0, 2.0)
    assert statistics.average_low == pytest.approx(-1.0 + 0.1 * (-2.0))
    assert statistics.average_high == pytest.approx(2.0 + 0.1 * (-1.0))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_not_finite_is_refused(value: float) -> None:
    with pytest.raises(UsageError, match="NaN or infinity"):
        TensorStatistics().observe(torch.tensor([0.0, value]))
