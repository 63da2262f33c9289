"""Equalized layers with their gains folded into weights and biases."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gantune.networks.equalized import EqualizedConv2d, EqualizedLinear, activation_gain
from gantune.networks.stylegan2_synthesis import ToRgbLayer
from gantune.ops import bias_act, upsample2d
from gantune.ops.bias_act.activations import LRELU_SLOPE, PIECEWISE_LINEAR


class FrozenLinear(nn.Linear):
    """A linear layer and its activation, whose gain is folded where it is positively homogeneous."""

    def __init__(self, weight: Tensor, bias: Tensor, *, activation: str) -> None:
        super().__init__(weight.shape[1], weight.shape[0])
        gain = activation_gain(activation) if activation in PIECEWISE_LINEAR else 1.0
        self.activation = activation
        self.weight = nn.Parameter(weight * gain)
        self.bias = nn.Parameter(bias * gain)

    def forward(self, x: Tensor) -> Tensor:
        """Return activation(x·Wᵀ + b)."""
        return activate(super().forward(x), self.activation)


def activate(x: Tensor, activation: str) -> Tensor:
    """Apply an activation whose gain, where it is homogeneous, has been folded before."""
    if activation == "linear":
        return x
    if activation == "relu":
        return F.relu(x)
    if activation == "lrelu":
        return F.leaky_relu(x, LRELU_SLOPE)
    return bias_act(x, act=activation)


def freeze_linear(layer: EqualizedLinear) -> FrozenLinear:
    """Fold the equalized gains of a linear layer, and its activation's gain."""
    weight, bias = layer.weight * layer.weight_gain, layer.bias * layer.bias_gain
    return FrozenLinear(weight, bias, activation=layer.activation)


class FrozenConv2d(nn.Module):
    """A plain convolution with its gain folded, up-sampled behind a 1×1 kernel where the original was."""

    resample_filter: Tensor

    def __init__(self, layer: EqualizedConv2d) -> None:
        super().__init__()
        self.up = layer.up
        self.padding = 0 if layer.up > 1 else layer.padding
        self.activation = layer.activation
        self.conv_clamp = layer.conv_clamp
        self.act_gain = layer.act_gain
        self.weight = nn.Parameter(layer.weight * layer.weight_gain)
        self.bias = None if layer.bias is None else nn.Parameter(layer.bias.clone())
        self.register_buffer("resample_filter", layer.resample_filter.clone())

    def forward(self, x: Tensor, gain: float = 1.0) -> Tensor:
        """Return the convolved, biased and activated x; `gain` scales the result and its clamp."""
        if self.activation not in PIECEWISE_LINEAR:
            x = self._convolve(x, self.weight, self.bias)
            return self._clamp(bias_act(x, act=self.activation, gain=self.act_gain * gain), gain)
        total = self.act_gain * gain
        bias = None if self.bias is None else self.bias * total
        return self._clamp(activate(self._convolve(x, self.weight * total, bias), self.activation), gain)

    def _convolve(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        if self.up == 1:
            return F.conv2d(x, weight, bias, padding=self.padding)
        x = upsample2d(F.conv2d(x, weight), self.resample_filter, up=self.up)
        return x if bias is None else x + bias[:, None, None]

    def _clamp(self, x: Tensor, gain: float) -> Tensor:
        return x if self.conv_clamp is None else x.clamp(-self.conv_clamp * gain, self.conv_clamp * gain)


def fold_torgb_gain(layer: ToRgbLayer) -> None:
    """Fold the 1/√C of a toRGB layer's styles into its affine layer, in place."""
    affine = layer.affine
    with torch.no_grad():
        affine.weight.mul_(layer.weight_gain)
        affine.bias.mul_(layer.weight_gain)
    layer.weight_gain = 1.0
