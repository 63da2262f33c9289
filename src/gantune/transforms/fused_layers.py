"""Layers whose convolution, scales, noise, bias and activation are one native operation."""

from dataclasses import replace
from typing import ParamSpec, cast

import torch
from torch import Tensor, nn

from gantune.networks.stylegan2_synthesis import NoiseMode
from gantune.ops.bias_act.activations import LRELU_SLOPE
from gantune.ops.choose import Operation
from gantune.ops.filtered_lrelu import OPERATION as FILTERED_LRELU
from gantune.ops.styled_convolution import Products, StyledOptions, project_pixels, styled_convolution
from gantune.transforms.constant_convolution import ConstantConvolution
from gantune.transforms.static_alias_free import Implementation, StaticAliasFreeLayer
from gantune.transforms.static_layers import StaticModulatedLayer, StaticToRgbLayer
from gantune.transforms.up_convolution import UpConvolution

P = ParamSpec("P")
_SLOPES = {"lrelu": LRELU_SLOPE, "relu": 0.0, "linear": None}


class FusedModulatedLayer(nn.Module):
    """StyleGAN2's modulated layer as one operation; takes what `StaticModulatedLayer` takes."""

    slope: Tensor | None

    def __init__(self, layer: StaticModulatedLayer, *, products: Products) -> None:
        super().__init__()
        self.layer = layer
        self.resolution = layer.resolution
        self.use_noise = layer.use_noise
        self.up = layer.up
        slope = _SLOPES[layer.activation]
        self.register_buffer("slope", None if slope is None else torch.full((layer.out_channels,), slope))
        smooth = None
        if isinstance(layer.convolution, UpConvolution):
            weight, smooth = phases_and_smooth(layer.convolution)
        else:
            weight = cast(Tensor, layer.convolution.weight)
        self.weight = nn.Parameter(weight.detach().contiguous(), requires_grad=False)
        self.options = StyledOptions(padding=layer.padding, smooth=smooth, products=products)
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


class FusedToRgbLayer(nn.Module):
    """A toRGB layer as one projection of every pixel, without a pass that scales the input."""

    rows: Tensor

    def __init__(self, layer: StaticToRgbLayer) -> None:
        super().__init__()
        self.affine = layer.affine
        self.weight_gain = layer.weight_gain
        self.conv_clamp = layer.conv_clamp
        self.bias = layer.bias
        self.register_buffer("rows", layer.weight.detach()[:, :, 0, 0].contiguous())

    def forward(self, x: Tensor, w: Tensor) -> Tensor:
        """Return the image part [N, img_channels, H, W], planar, for x [N, in_channels, H, W]."""
        weight = (self.affine(w) * self.weight_gain)[:, None, :] * self.rows
        return project_pixels(x, weight, self.bias, self.conv_clamp)


class FusedAliasFreeLayer(nn.Module):
    """StyleGAN3's layer with the native filtered leaky ReLU, behind a native convolution where it is 3×3."""

    def __init__(self, layer: StaticAliasFreeLayer, *, products: Products) -> None:
        super().__init__()
        self.layer = layer
        layer.implementation = native_form_of(FILTERED_LRELU)
        self.weight: Tensor | None = None
        self.options = StyledOptions(padding=layer.kernel_size - 1, products=products)
        if layer.kernel_size == 3:
            weight = cast(Tensor, layer.convolution.weight).detach()
            self.weight = nn.Parameter(weight.contiguous(), requires_grad=False)
            layer.convolution = nn.Identity()

    def forward(
        self, x: Tensor, w: Tensor, noise_mode: NoiseMode = "const", *, update_emas: bool = False
    ) -> Tensor:
        """Return [N, out_channels, out_size, out_size]."""
        if self.weight is None:
            result: Tensor = self.layer(x, w, noise_mode, update_emas=update_emas)
            return result
        scale_in, scale_out = self.layer.scales(w)
        options = replace(self.options, scale_in=scale_in, scale_out=scale_out)
        return self.layer.activate(styled_convolution(x, self.weight, options))


def native_form_of(operation: Operation[P]) -> Implementation | None:
    """Name the native form where it can run here; None leaves the choice to the operation."""
    form = operation.find("native")
    return "native" if form is not None and form.missing is None else None


class FusedConvolution(nn.Module):
    """A 3×3 convolution with bias and, where it has a slope, a leaky ReLU."""

    slope: Tensor | None

    def __init__(self, convolution: nn.Conv2d, slope: Tensor | None, *, products: Products) -> None:
        super().__init__()
        self.weight = nn.Parameter(convolution.weight.detach().contiguous(), requires_grad=False)
        self.bias = convolution.bias
        self.register_buffer("slope", slope)
        self.options = StyledOptions(padding=int(convolution.padding[0]), products=products)

    def forward(self, x: Tensor) -> Tensor:
        """Return activation(conv(x) + bias)."""
        return styled_convolution(x, self.weight, replace(self.options, bias=self.bias, slope=self.slope))


FUSED_LAYERS = (FusedModulatedLayer, FusedToRgbLayer, FusedAliasFreeLayer, FusedConvolution)


def products_of(network: nn.Module) -> set[Products]:
    """Say how the fused layers of a network multiply; empty where none is fused."""
    options = (getattr(module, "options", None) for module in network.modules())
    return {found.products for found in options if isinstance(found, StyledOptions)}
