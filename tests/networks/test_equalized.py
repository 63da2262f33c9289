"""Equalized layers scale their stored weights as their paper says."""

from math import sqrt

import pytest
import torch
import torch.nn.functional as F

from gantune.networks.equalized import EqualizedConv2d, EqualizedLinear, activation_gain


def test_linear_scales_weight_and_bias_by_the_learning_rate():
    layer = EqualizedLinear(4, 3, lr_multiplier=0.01, bias_init=2).requires_grad_(False)
    assert torch.equal(layer.bias, torch.full((3,), 200.0))
    x = torch.randn(5, 4)
    torch.testing.assert_close(layer(x), F.linear(x, layer.weight * 0.01 / 2) + 2)


def test_linear_activates_with_the_gain_of_its_activation():
    layer = EqualizedLinear(4, 3, activation="lrelu").requires_grad_(False)
    x = torch.randn(5, 4)
    expected = sqrt(2) * F.leaky_relu(F.linear(x, layer.weight / 2), 0.2)
    torch.testing.assert_close(layer(x), expected)


def test_convolution_scales_by_its_fan_in():
    layer = EqualizedConv2d(2, 3, 3, activation="lrelu").requires_grad_(False)
    layer.bias.copy_(torch.arange(3.0))
    x = torch.randn(1, 2, 5, 5)
    plain = F.conv2d(x, layer.weight / sqrt(18), layer.bias, padding=1)
    torch.testing.assert_close(layer(x), sqrt(2) * F.leaky_relu(plain, 0.2))


def test_gain_scales_the_clamp_too():
    layer = EqualizedConv2d(2, 3, 1, activation="lrelu", conv_clamp=0.1).requires_grad_(False)
    x = 100 * torch.randn(1, 2, 5, 5)
    assert layer(x, gain=0.5).abs().max().item() == pytest.approx(0.05)


@pytest.mark.parametrize(("up", "down", "size"), [(2, 1, 16), (1, 2, 4)])
def test_resampling_keeps_the_mean_of_a_constant_image(up, down, size):
    layer = EqualizedConv2d(1, 1, 1, bias=False, up=up, down=down).requires_grad_(False)
    layer.weight.fill_(3.0)
    result = layer(torch.ones(1, 1, 8, 8))
    assert result.shape == (1, 1, size, size)
    # Away from the borders, which see zeros, a low-pass filter leaves a constant alone.
    inner = result[..., 2:-2, 2:-2] if size > 4 else result[..., 1:-1, 1:-1]
    torch.testing.assert_close(inner, torch.full_like(inner, 3.0))


def test_gains_of_activations():
    assert activation_gain("linear") == 1
    assert activation_gain("tanh") == 1
    assert activation_gain("lrelu") == sqrt(2)
