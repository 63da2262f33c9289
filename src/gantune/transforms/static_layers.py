"""StyleGAN2's layers with constant convolution weights: style scale, convolution, demodulation scale."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gantune.networks.stylegan2_synthesis import ModulatedLayer, NoiseMode, ToRgbLayer
from gantune.ops import bias_act
from gantune.ops.bias_act.activations import PIECEWISE_LINEAR
from gantune.ops.modulated_conv2d.options import DEMODULATION_EPSILON
from gantune.transforms.constant_convolution import ConstantConvolution
from gantune.transforms.frozen_layers import activate
from gantune.transforms.up_convolution import UpConvolution


class StaticModulatedLayer(nn.Module):
    """A modulated layer as x·s → constant convolution → ·d + noise + bias → activation → clamp."""

    noise_const: Tensor
    weight_square: Tensor

    def __init__(self, layer: ModulatedLayer) -> None:
        super().__init__()
        self.in_channels = layer.in_channels
        self.out_channels = layer.out_channels
        self.resolution = layer.resolution
        self.up = layer.up
        self.padding = layer.padding
        self.use_noise = layer.use_noise
        self.activation = layer.activation
        self.act_gain = layer.act_gain
        self.conv_clamp = layer.conv_clamp
        self.demodulate = layer.demodulate
        self.affine = layer.affine
        self.bias = nn.Parameter(layer.bias.detach().clone())
        if self.use_noise:
            self.register_buffer("noise_const", layer.noise_const.clone())
            self.noise_strength = nn.Parameter(layer.noise_strength.detach().clone())
        square = layer.weight.detach().square().sum(dim=(2, 3)).t().contiguous()
        self.register_buffer("weight_square", square)
        if layer.up > 1:
            self.convolution: nn.Module = UpConvolution(
                layer.weight.detach(), layer.resample_filter, "transposed"
            )
        else:
            self.convolution = ConstantConvolution(layer.weight.detach(), padding=layer.padding)

    def forward(
        self,
        x: Tensor,
        w: Tensor,
        noise_mode: NoiseMode = "const",
        noise: Tensor | None = None,
        gain: float = 1.0,
    ) -> Tensor:
        """Return [N, out_channels, up·H, up·W], as `ModulatedLayer` does; "random" noise is left to it."""
        total = self.act_gain * gain if self.activation in PIECEWISE_LINEAR else 1.0
        styles = self.affine(w)
        y = self.convolution(x * styles[:, :, None, None])
        added = self.scaled_noise(noise_mode, noise)
        shift = self.bias[:, None, None] * total
        shift = shift if added is None else shift + added * total
        y = torch.addcmul(shift, y, self.demodulation(styles, total)[:, :, None, None])
        clamp = None if self.conv_clamp is None else self.conv_clamp * gain
        if self.activation in PIECEWISE_LINEAR:
            y = activate(y, self.activation)
            return y if clamp is None else y.clamp(-clamp, clamp)
        return bias_act(y, act=self.activation, gain=self.act_gain * gain, clamp=clamp)

    def demodulation(self, styles: Tensor, gain: float) -> Tensor:
        """Return the output scale [N, out_channels] for styles [N, in_channels], times `gain`."""
        if not self.demodulate:
            return styles.new_full((styles.shape[0], self.out_channels), gain)
        return torch.rsqrt(styles.square() @ self.weight_square + DEMODULATION_EPSILON) * gain

    def scaled_noise(self, noise_mode: NoiseMode, noise: Tensor | None) -> Tensor | None:
        """Return the noise times its strength; None for no noise."""
        if not self.use_noise or (noise is None and noise_mode == "none"):
            return None
        if noise is None and noise_mode == "random":
            noise = torch.randn_like(self.noise_const)
        return (self.noise_const if noise is None else noise) * self.noise_strength


class StaticToRgbLayer(nn.Module):
    """A toRGB layer as a 1×1 convolution with constant weight on x·s."""

    def __init__(self, layer: ToRgbLayer) -> None:
        super().__init__()
        self.in_channels = layer.in_channels
        self.out_channels = layer.out_channels
        self.conv_clamp = layer.conv_clamp
        self.affine = layer.affine
        self.weight_gain = layer.weight_gain
        self.weight = nn.Parameter(layer.weight.detach().clone())
        self.bias = nn.Parameter(layer.bias.detach().clone())

    def forward(self, x: Tensor, w: Tensor) -> Tensor:
        """Return the image part [N, img_channels, H, W] of x [N, in_channels, H, W]."""
        styles = self.affine(w)
        if self.weight_gain != 1.0:
            styles = styles * self.weight_gain
        y = F.conv2d(x * styles[:, :, None, None], self.weight, self.bias)
        return y if self.conv_clamp is None else y.clamp(-self.conv_clamp, self.conv_clamp)
