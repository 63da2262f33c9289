import pytest
import torch

from gantune.errors import UsageError
from gantune.quality.moments import Moments


def test_batches_give_the_covariance_of_the_whole_far_from_zero() -> None:
    values = torch.randn(1000, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64) + 1e6
    moments = Moments(8)
    for part in values.split([1, 99, 500, 400]):
        moments.update(part)
    expected = torch.cov((values - 1e6).t())
    assert moments.n == 1000
    assert torch.allclose(moments.mean, values.mean(dim=0), rtol=1e-14)
    assert torch.allclose(moments.covariance, expected, rtol=0, atol=1e-8)


def test_stored_moments_come_back() -> None:
    moments = Moments.of(torch.arange(12.0).reshape(4, 3))
    again = Moments.restore(moments.n, moments.mean, moments.covariance)
    assert torch.equal(again.mean, moments.mean)
    assert torch.allclose(again.covariance, moments.covariance)
    again.update(torch.ones(1, 3))
    assert again.n == 5


def test_features_of_another_width_are_refused() -> None:
    with pytest.raises(UsageError, match=r"\[2, 4\]; they must be \[N, 3\]"):
        Moments(3).update(torch.zeros(2, 4))
