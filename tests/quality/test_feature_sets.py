import numpy as np
import psutil
import pytest
import torch
from numpy.typing import NDArray
from torch import nn

from gantune.errors import UsageError
from gantune.quality.feature_sets import gather_features
from gantune.quality.features import module_features
from gantune.quality.frechet import frechet_distance
from gantune.quality.image_sources import ImageSource
from gantune.records.interface import OutputSpec


class Noise:
    """Images that are drawn when they are read; the process's size is noted at each."""

    output = OutputSpec()
    num_images = None

    def __init__(self) -> None:
        self.sizes: dict[int, int] = {}

    def read(self, start: int, stop: int) -> NDArray[np.float32]:
        self.sizes[start] = psutil.Process().memory_info().rss
        generator = np.random.default_rng(start)
        return generator.uniform(-1, 1, (stop - start, 3, 32, 32)).astype(np.float32)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_images() -> None:
    layers = nn.Conv2d(3, 32, 8, stride=8), nn.ReLU(), nn.Flatten(), nn.Linear(512, 128)
    source: ImageSource = Noise()
    network = module_features("convolution", nn.Sequential(*layers))
    found = gather_features(source, network, start=0, stop=50_000, batch=100, num_kept=0)
    assert frechet_distance(found.moments, found.moments).value < 1e-6
    assert isinstance(source, Noise)
    largest = max(size for start, size in source.sizes.items() if start >= 5000)
    assert largest - source.sizes[5000] < 100e6
    assert found.n == 50_000


def test_all_images_count_in_the_moments_and_the_first_are_kept() -> None:
    network = module_features("means", nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()))
    source = Noise()
    found = gather_features(source, network, start=0, stop=25, batch=10, num_kept=12)
    assert (found.n, found.features.shape, found.logits) == (25, (12, 3), None)
    everything = gather_features(source, network, start=0, stop=25, batch=10, num_kept=25)
    assert torch.equal(everything.features[:12], found.features)
    assert torch.allclose(everything.features.double().mean(dim=0), found.moments.mean, atol=1e-6)


def test_one_image_is_no_distribution() -> None:
    network = module_features("flat", nn.Flatten())
    with pytest.raises(UsageError, match="at least 2"):
        gather_features(Noise(), network, start=0, stop=1, batch=1, num_kept=1)
