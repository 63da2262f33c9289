"""Layers whose convolution, scales, noise, bias and activation are one native operation."""

from dataclasses import replace
from typing import cast

import torch
from torch import Tensor, nn

from gantune.networks.stylegan2_synthesis import NoiseMode
from gantune.ops.styled_convolution import StyledOptions, styled_convolution
from gantune.transforms.constant_convolution import ConstantConvolution
from gantune.transforms.static_alias_free import StaticAliasFreeLayer
from gantune.transforms.static_layers import StaticModulatedLayer
from gantune.transforms.up_convolution import UpConvolution

_SLOPES = {"lrelu": 0.2, "relu": 0.0, "linear": None}


class FusedModulatedLayer(nn.Module):
    """StyleGAN2's modulated layer as one operation; takes what `StaticModulatedLayer` takes."""

    slope: Tensor | None

    def __init__(self, layer: StaticModulatedLayer, *, is_half: bool) -> None:
        super().__init__()
        self.layer = layer
        slope = _SLOPES[layer.activation]
        self.register_buffer("slope", None if slope is None else torch.full((layer.out_channels,), slope))
        smooth = None
        if isinstance(layer.convolution, UpConvolution):
            weight, smooth = phases_and_smooth(layer.convolution)
        else:
            weight = cast(Tensor, layer.convolution.weight)
        self.weight = nn.Parameter(weight.detach().contiguous(), requires_grad=False)
        self.options = StyledOptions(padding=layer.padding, smooth=smooth, is_half=is_half)
        layer.convolution = nn.Identity()

    def forward(
        self,
        x: Tensor,
        w: Tensor,
        noise_mode: NoiseMode = "const",
        noise: Tensor | None = None,
        gain: float = 1.0,
    ) -> Tensor:
        """Return [N, out_channels, up·H, up·W]."""
        layer = self.layer
        total = layer.act_gain * gain
        styles = layer.affine(w)
        added = layer.scaled_noise(noise_mode, noise)
        options = replace(
            self.options,
            scale_in=styles,
            scale_out=layer.demodulation(styles, total),
            noise=None
            if added is None
            else (added * total).reshape(-1, 1, layer.resolution, layer.resolution),
            bias=layer.bias * total,
            slope=self.slope,
            clamp=None if layer.conv_clamp is None else layer.conv_clamp * gain,
        )
        return styled_convolution(x, self.weight, options)


def phases_and_smooth(layer: UpConvolution) -> tuple[Tensor, list[float]]:
    """Return the phases' weights, phase first, and the three taps that are left of the filter."""
    split = UpConvolution(*layer.original, "subpixel")
    assert split.filter is not None
    K = split.out_channels
    weight = split.weight.reshape(K, 4, *split.weight.shape[1:]).transpose(0, 1).flatten(0, 1)
    plane = split.filter[0, 0].to(torch.float64)
    return weight, (plane[1] / plane[1, 1].sqrt()).tolist()


def can_fuse(layer: StaticModulatedLayer) -> bool:
    """Say whether the native operation computes this layer."""
    if layer.activation not in _SLOPES:
        return False
    if isinstance(layer.convolution, ConstantConvolution):
        return layer.convolution.weight.shape[-1] == 3
    if not isinstance(layer.convolution, UpConvolution):
        return False
    split = UpConvolution(*layer.convolution.original, "subpixel")
    if split.filter is None or split.filter.shape[-1] != 3 or split.kernel_size != 4:
        return False
    plane = split.filter[0, 0]
    return torch.allclose(torch.outer(plane[1], plane[1]) / plane[1, 1], plane) and split.padding == (0, 0)


class FusedAliasFreeLayer(nn.Module):
    """StyleGAN3's layer with scales and convolution as one operation in front of the filtered leaky ReLU."""

    def __init__(self, layer: StaticAliasFreeLayer, *, is_half: bool) -> None:
        super().__init__()
        self.layer = layer
        weight = cast(Tensor, layer.convolution.weight).detach()
        self.weight = nn.Parameter(weight.contiguous(), requires_grad=False)
        self.options = StyledOptions(padding=weight.shape[-1] - 1, is_half=is_half)
        layer.convolution = nn.Identity()

    def forward(
        self, x: Tensor, w: Tensor, noise_mode: NoiseMode = "const", *, update_emas: bool = False
    ) -> Tensor:
        """Return [N, out_channels, out_size, out_size]."""
        scale_in, scale_out = self.layer.scales(w)
        options = replace(self.options, scale_in=scale_in, scale_out=scale_out)
        return self.layer.activate(styled_convolution(x, self.weight, options))


class FusedConvolution(nn.Module):
    """A 3×3 convolution with bias and, where it has a slope, a leaky ReLU."""

    slope: Tensor | None

    def __init__(self, convolution: nn.Conv2d, slope: Tensor | None, *, is_half: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(convolution.weight.detach().contiguous(), requires_grad=False)
        self.bias = convolution.bias
        self.register_buffer("slope", slope)
        self.options = StyledOptions(padding=1, is_half=is_half)

    def forward(self, x: Tensor) -> Tensor:
        """Return activation(conv(x) + bias)."""
        return styled_convolution(x, self.weight, replace(self.options, bias=self.bias, slope=self.slope))
