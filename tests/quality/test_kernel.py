import pytest
import torch
from torch import Tensor, nn
from torchmetrics.image.kid import KernelInceptionDistance

from gantune.errors import UsageError
from gantune.quality.kernel import KernelOptions, kernel_difference, kernel_distance


class Flat(nn.Module):
    num_features = 12

    def forward(self, images: Tensor) -> Tensor:
        return images.reshape(len(images), -1)


def features(n: int, seed: int, shift: float = 0.0) -> Tensor:
    return torch.randn(n, 12, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) + shift


@pytest.mark.filterwarnings("ignore:Metric .* will save all:UserWarning")
def test_one_full_subset_is_torchmetrics() -> None:
    real, fake = features(80, 0), features(80, 1, 0.3)
    metric = KernelInceptionDistance(feature=Flat(), subsets=1, subset_size=80, normalize=True)
    metric.update(real.reshape(-1, 3, 2, 2), real=True)
    metric.update(fake.reshape(-1, 3, 2, 2), real=False)
    expected, _ = metric.compute()
    found = kernel_distance(real, fake, KernelOptions(subset_size=80))
    assert found.value == pytest.approx(float(expected), rel=1e-4)
    assert found.low is None


def test_three_points_by_hand() -> None:
    # One feature: k(x, y) = (xy + 1)³. a = 0, 1: k(0, 1) = 1. b = 1, 2: k(1, 2) = 27.
    # Across: k(0,1) = 1, k(0,2) = 1, k(1,1) = 8, k(1,2) = 27, mean 37/4. 1 + 27 − 2·37/4 = 9.5.
    a, b = torch.tensor([[0.0], [1.0]]), torch.tensor([[1.0], [2.0]])
    assert kernel_distance(a, b).value == pytest.approx(9.5)


def test_the_interval_holds_the_distance_of_everything() -> None:
    real, fake = features(600, 0), features(600, 1, 0.2)
    everything = kernel_distance(real, fake, KernelOptions(subset_size=600)).value
    found = kernel_distance(real, fake, KernelOptions(subset_size=150, num_subsets=60))
    assert found.low is not None
    assert found.high is not None
    assert found.low < everything < found.high


def test_a_real_difference_is_worse_and_the_same_images_show_none() -> None:
    reference, old = features(400, 0), features(400, 1, 0.1)
    options = KernelOptions(subset_size=100, num_subsets=50)
    assert kernel_difference(old + 0.3, old, reference, options).verdict == "worse"
    same = kernel_difference(old, old, reference, options)
    assert (same.value, same.low, same.high) == (0, 0, 0)
    assert same.verdict == "no difference shown"


def test_one_image_is_refused() -> None:
    with pytest.raises(UsageError, match="at least 2"):
        kernel_distance(features(1, 0), features(5, 1))
