"""The Fourier features of StyleGAN3 fill their band and move as their w says."""

from math import pi

import pytest
import torch

from gantune.networks.stylegan3_input import FourierInput


def build(channels=4, bandwidth=2.0):
    torch.manual_seed(5)
    layer = FourierInput(3, channels, size=12, sampling_rate=8, bandwidth=bandwidth)
    return layer.requires_grad_(False)


def test_frequencies_are_uniform_over_the_disc_of_the_band():
    radius = build(channels=4096).freqs.norm(dim=1)
    assert radius.max() <= 2
    # Uniform over a disc: the mean of r² is half the square of its radius.
    assert radius.square().mean().item() == pytest.approx(2, rel=0.05)


def test_a_new_layer_neither_turns_nor_moves():
    motion = build().motion(torch.randn(2, 3))
    torch.testing.assert_close(motion, torch.eye(3).expand(2, 3, 3))


def test_w_turns_by_its_first_two_numbers_whatever_their_length():
    layer = build()
    layer.affine.bias.copy_(torch.tensor([0.0, 5.0, 0.0, 0.0]))
    expected = torch.tensor([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    torch.testing.assert_close(layer.motion(torch.zeros(1, 3))[0], expected)


def test_features_are_the_mixed_waves_at_the_sample_centres():
    layer = build()
    features = layer(torch.zeros(1, 3))
    assert features.shape == (1, 4, 12, 12)
    x, y = (3 + 0.5 - 6) / 8, (7 + 0.5 - 6) / 8
    waves = torch.sin(2 * pi * (layer.freqs @ torch.tensor([x, y]) + layer.phases))
    torch.testing.assert_close(features[0, :, 7, 3], layer.weight @ waves / 2)


def test_frequencies_that_leave_the_band_fade_and_vanish_at_the_nyquist_frequency():
    layer = build()
    layer.freqs.copy_(torch.tensor([[2.0, 0.0]]).expand(4, 2))
    layer.weight.copy_(2 * torch.eye(4))
    peaks = []
    for scale in (1.0, 1.5, 2.0):
        layer.transform[:2, :2] = scale * torch.eye(2)
        phases = torch.linspace(-0.5, 0.5, 4)
        layer.phases.copy_(phases)
        wave = torch.sin(2 * pi * (2 * scale * layer.grid[:, :1].t() + phases[:, None]))
        peaks.append((layer(torch.zeros(1, 3)).reshape(4, -1) * wave).sum() / wave.square().sum())
    assert peaks == pytest.approx([1.0, 0.5, 0.0], abs=1e-5)
