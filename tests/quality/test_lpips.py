from pathlib import Path

import numpy as np
import pytest
import torch

from gantune.errors import CheckpointError, UsageError
from gantune.quality.lpips import LPIPS, open_lpips
from gantune.quality.pixels import Pixels, pixels_from_bytes

WIDTHS = (64, 128, 256, 512, 512)


@pytest.fixture(scope="module")
def network() -> LPIPS:
    torch.manual_seed(0)
    return LPIPS().eval().requires_grad_(False)


def noise(seed: int) -> Pixels:
    return pixels_from_bytes(np.random.default_rng(seed).integers(0, 256, (2, 3, 32, 32), dtype=np.uint8))


def test_equal_images_are_at_distance_zero_and_others_above(network: LPIPS) -> None:
    assert network(noise(0), noise(0)).tolist() == [0, 0]
    assert bool((network(noise(0), noise(1)) > 0).all())
    assert torch.allclose(network(noise(0), noise(1)), network(noise(1), noise(0)))


def test_the_distance_is_the_sum_over_stages_of_the_definition(network: LPIPS) -> None:
    a, b = noise(2), noise(3)
    expected = torch.zeros(2)
    for left, right in zip(network._stages(a), network._stages(b), strict=True):
        u, v = (x / (x.norm(dim=1, keepdim=True) + 1e-10) for x in (left, right))
        expected += (u - v).square().sum(dim=1).mean(dim=(1, 2))
    assert torch.allclose(network(a, b), expected, rtol=1e-5)
    assert [stage.shape[1] for stage in network._stages(a)] == list(WIDTHS)
    assert [stage.shape[2] for stage in network._stages(a)] == [32, 16, 8, 4, 2]


def test_published_files_are_read_and_their_hashes_kept(network: LPIPS, tmp_path: Path) -> None:
    vgg = {f"features.{name}": tensor for name, tensor in network.features.state_dict().items()}
    torch.save(vgg | {"classifier.0.weight": torch.zeros(2)}, tmp_path / "vgg16.pth")
    linear = {f"lin{i}.model.1.weight": torch.full((1, width, 1, 1), 2.0) for i, width in enumerate(WIDTHS)}
    torch.save(linear, tmp_path / "linear.pth")
    opened = open_lpips(tmp_path / "vgg16.pth", tmp_path / "linear.pth")
    assert len(opened.weights_sha256) == 129
    assert torch.allclose(opened(noise(0), noise(1)), 2 * network(noise(0), noise(1)))
    torch.save(linear | {"lin0.model.1.weight": -linear["lin0.model.1.weight"]}, tmp_path / "bad.pth")
    with pytest.raises(CheckpointError, match="negative"):
        open_lpips(tmp_path / "vgg16.pth", tmp_path / "bad.pth")
    with pytest.raises(CheckpointError, match="VGG-16"):
        open_lpips(tmp_path / "linear.pth", tmp_path / "linear.pth")


def test_images_of_two_sizes_are_refused(network: LPIPS) -> None:
    with pytest.raises(UsageError, match="one size"):
        network(noise(0), pixels_from_bytes(np.zeros((2, 3, 16, 16), np.uint8)))
