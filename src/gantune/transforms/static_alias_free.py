"""StyleGAN3's layers with constant convolution weights."""

from typing import Literal

import torch
from torch import Tensor, nn

from gantune.networks.stylegan2_synthesis import NoiseMode
from gantune.networks.stylegan3_synthesis import AliasFreeLayer
from gantune.ops import filtered_lrelu
from gantune.ops.modulated_conv2d.options import DEMODULATION_EPSILON
from gantune.transforms.constant_convolution import ConstantConvolution

Implementation = Literal["reference", "portable", "native"]


class StaticAliasFreeLayer(nn.Module):
    """An alias-free layer as x·s → constant convolution → ·d → filtered leaky ReLU.

    The input's normalization and the last layer's style gain are folded into s. `implementation` names the
    form of `filtered_lrelu` (None: the automatic choice).
    """

    weight_square: Tensor
    input_gain: Tensor
    up_filter: Tensor | None
    down_filter: Tensor | None

    def __init__(self, layer: AliasFreeLayer) -> None:
        super().__init__()
        self.in_channels = layer.in_channels
        self.out_channels = layer.out_channels
        self.in_size, self.out_size = layer.in_size, layer.out_size
        self.demodulate = layer.demodulate
        self.style_gain = layer.style_gain
        self.up_factor, self.down_factor = layer.up_factor, layer.down_factor
        self.padding = list(layer.padding)
        self.gain, self.slope, self.conv_clamp = layer.gain, layer.slope, layer.conv_clamp
        self.implementation: Implementation | None = None
        self.kernel_size = layer.conv_kernel
        self.affine = layer.affine
        weight = layer.weight.detach()
        self.convolution: nn.Module = ConstantConvolution(weight, padding=layer.conv_kernel - 1)
        self.bias = nn.Parameter(layer.bias.detach().clone())
        self.register_buffer("weight_square", weight.square().sum(dim=(2, 3)).t().contiguous())
        self.register_buffer("input_gain", layer.magnitude_ema.rsqrt())
        self.register_buffer("up_filter", layer.up_filter)
        self.register_buffer("down_filter", layer.down_filter)

    def forward(
        self, x: Tensor, w: Tensor, noise_mode: NoiseMode = "const", *, update_emas: bool = False
    ) -> Tensor:
        """Return [N, out_channels, out_size, out_size], as `AliasFreeLayer` does; it keeps no averages."""
        scale_in, scale_out = self.scales(w)
        y = self.convolution(x * scale_in[:, :, None, None])
        return self.activate(y if scale_out is None else y * scale_out[:, :, None, None])

    def scales(self, w: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return the scales of the convolution's input [N, in_channels] and output [N, out_channels]."""
        styles = self.affine(w)
        if self.style_gain != 1.0:
            styles = styles * self.style_gain
        if not self.demodulate:
            return styles * self.input_gain, None
        energy = styles.square() @ self.weight_square
        return styles * self.input_gain, torch.rsqrt(energy + DEMODULATION_EPSILON)

    def activate(self, y: Tensor) -> Tensor:
        """Run the filtered leaky ReLU behind the convolution."""
        return filtered_lrelu(
            y,
            fu=self.up_filter,
            fd=self.down_filter,
            b=self.bias,
            up=self.up_factor,
            down=self.down_factor,
            padding=self.padding,
            gain=self.gain,
            slope=self.slope,
            clamp=self.conv_clamp,
            implementation=self.implementation,
        )
