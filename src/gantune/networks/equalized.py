"""Layers with an equalized learning rate: weights are stored at unit variance and scaled when they are used.

Karras et al., Progressive Growing of GANs (arXiv 1710.10196), section 4.1.
"""

from collections.abc import Sequence
from math import sqrt

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gantune.ops import bias_act, setup_filter, upfirdn2d, upsample2d
from gantune.ops.bias_act.activations import ACTIVATIONS


def activation_gain(activation: str) -> float:
    """Return the gain that keeps the variance behind `activation` (1 where none is known)."""
    known = ACTIVATIONS.get(activation)
    return 1.0 if known is None else known.default_gain


class EqualizedLinear(nn.Module):
    """Map [N, in_features] to [N, out_features], then activate.

    `weight` and `bias` are stored divided by `lr_multiplier`; `weight_gain` and `bias_gain` scale them back.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        activation: str = "linear",
        lr_multiplier: float = 1.0,
        weight_init: float = 1.0,
        bias_init: float | Sequence[float] = 0.0,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.activation = activation
        self.weight = nn.Parameter(torch.randn(out_features, in_features) * (weight_init / lr_multiplier))
        bias = torch.tensor(bias_init, dtype=torch.float32).expand(out_features) / lr_multiplier
        self.bias = nn.Parameter(bias)
        self.weight_gain = lr_multiplier / sqrt(in_features)
        self.bias_gain = lr_multiplier

    def forward(self, x: Tensor) -> Tensor:
        """Return activation(x·Wᵀ + b)."""
        weight = self.weight * self.weight_gain
        bias = self.bias if self.bias_gain == 1 else self.bias * self.bias_gain
        if self.activation == "linear":
            return F.linear(x, weight, bias)
        return bias_act(F.linear(x, weight), bias, act=self.activation)


class EqualizedConv2d(nn.Module):
    """Convolve [N, in_channels, H, W], resampled by 2 with `resample_filter` where `up` or `down` is 2.

    `down` filters, then strides; `up` is for 1×1 kernels only, which commute with the up-sampling, so the
    convolution runs at the small size.
    """

    resample_filter: Tensor

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        *,
        bias: bool = True,
        activation: str = "linear",
        up: int = 1,
        down: int = 1,
        resample_filter: Sequence[float] = (1, 3, 3, 1),
        conv_clamp: float | None = None,
    ) -> None:
        super().__init__()
        assert up == 1 or (kernel_size == 1 and down == 1), "up-sampling is for 1×1 kernels alone"
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.activation = activation
        self.up = up
        self.down = down
        self.padding = kernel_size // 2
        self.conv_clamp = conv_clamp
        self.weight = nn.Parameter(torch.randn(out_channels, in_channels, kernel_size, kernel_size))
        self.bias = nn.Parameter(torch.zeros(out_channels)) if bias else None
        self.register_buffer("resample_filter", setup_filter(list(resample_filter)))
        self.weight_gain = 1 / sqrt(in_channels * kernel_size**2)
        self.act_gain = activation_gain(activation)

    def forward(self, x: Tensor, gain: float = 1.0) -> Tensor:
        """Return the convolved, biased and activated x; `gain` scales the result and its clamp."""
        weight = self.weight * self.weight_gain
        if self.up > 1:
            x = upsample2d(F.conv2d(x, weight), self.resample_filter, up=self.up)
        elif self.down > 1:
            x = upfirdn2d(x, self.resample_filter, padding=self._filter_padding())
            x = F.conv2d(x, weight, stride=self.down)
        else:
            x = F.conv2d(x, weight, padding=self.padding)
        if self.bias is None and self.activation == "linear" and self.conv_clamp is None:
            return x * gain
        clamp = None if self.conv_clamp is None else self.conv_clamp * gain
        return bias_act(x, self.bias, act=self.activation, gain=self.act_gain * gain, clamp=clamp)

    def _filter_padding(self) -> list[int]:
        taps = self.resample_filter.shape[-1]
        before = self.padding + (taps - self.down + 1) // 2
        after = self.padding + (taps - self.down) // 2
        return [before, after, before, after]
