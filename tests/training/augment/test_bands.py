from math import pi

import pytest
import torch

from gantune.training.augment.bands import BAND_NAMES, amplify_bands, band_gains, band_kernels
from gantune.training.batches import seed_generator


def decide(**normals):
    """Decisions about one sample: those named happen with the given normal number."""
    draw = {name: torch.tensor([[2.0, 0.5, 0.0]]) for name in BAND_NAMES}
    return draw | {name: torch.tensor([[0.0, 0.5, value]]) for name, value in normals.items()}


def response(kernel, frequency):
    places = torch.arange(len(kernel)) - len(kernel) // 2
    return float((kernel * torch.cos(frequency * places)).sum())


def test_the_bands_add_up_to_the_identity():
    total = band_kernels().sum(dim=0)
    identity = torch.zeros_like(total)
    identity[len(total) // 2] = 1
    assert torch.allclose(total, identity, atol=1e-7)


@pytest.mark.parametrize(("band", "frequency"), [(0, 0.0), (1, 0.18 * pi), (2, 0.36 * pi), (3, pi)])
def test_each_band_passes_its_octave(band, frequency):
    passed = [response(kernel, frequency) for kernel in band_kernels()]
    assert passed[band] > 2 / 3
    assert all(abs(value) < 1 / 4 for index, value in enumerate(passed) if index != band)


def test_gains_keep_the_power_of_a_natural_image():
    # By hand: the top band doubled, the whole over √(12/13 + 4/13).
    (doubled,) = band_gains(decide(band_3=1.0), 1.0)
    scale = (16 / 13) ** -0.5
    assert doubled.tolist() == pytest.approx([scale, scale, scale, 2 * scale])


def test_a_checkerboard_is_amplified_as_its_band_is():
    board = (-1.0) ** (torch.arange(16)[:, None] + torch.arange(16)[None, :])
    gains = torch.tensor([[1.0, 1.0, 1.0, 1.5]])
    # Once along rows, once along columns.
    assert torch.allclose(amplify_bands(board[None, None], gains)[0, 0], 2.25 * board, atol=1e-5)


def test_a_constant_keeps_its_value_and_untouched_samples_are_the_same():
    images = torch.stack([torch.full((1, 32, 32), 0.7), torch.rand(1, 32, 32, generator=seed_generator(3))])
    gains = torch.tensor([[1.0, 3.0, 2.0, 0.5], [1.0, 1.0, 1.0, 1.0]])
    filtered = amplify_bands(images, gains)
    assert torch.allclose(filtered[0], images[0], atol=1e-5)
    assert torch.equal(filtered[1], images[1])
    assert amplify_bands(images, torch.ones(2, 4)) is images
