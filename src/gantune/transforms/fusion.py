"""Fuse each layer into one native operation, for torch programs on a CPU."""

from typing import Literal, cast

import torch
from torch import nn

from gantune.errors import UnsupportedError, UsageError
from gantune.networks.srvgg import SRVGGGenerator
from gantune.ops.styled_convolution import Products
from gantune.transforms.fused_layers import (
    FusedAliasFreeLayer,
    FusedConvolution,
    FusedModulatedLayer,
    FusedToRgbLayer,
    can_fuse,
)
from gantune.transforms.module_tree import NetworkT, copy_network, replace_modules
from gantune.transforms.static_alias_free import StaticAliasFreeLayer
from gantune.transforms.static_layers import StaticModulatedLayer, StaticToRgbLayer

Mode = Literal["fp32", "mixed", "bf16", "bf16_large"]
MODES: tuple[Mode, ...] = ("fp32", "mixed", "bf16", "bf16_large")
# Below these sizes a direct float32 convolution is faster: the transformed weights are 4 times as many bytes
# as the plain ones, of an up-sampling layer 16 times (measured).
SMALLEST_SIZE = 16
SMALLEST_UPSAMPLED_SIZE = 64
MOST_SMALL_TILES = 32
# Up to these sizes a direct convolution in bfloat16 is as fast or faster, for the same reason.
LARGEST_DIRECT_SIZE = 8
LARGEST_DIRECT_UPSAMPLED_SIZE = 16


def fusion(network: NetworkT, products: Mode = "fp32") -> NetworkT:
    """Return a copy whose 3×3 convolutions, with what surrounds them, are native operations.

    `products` "fp32" is exact; "bf16" multiplies in bfloat16 with float32 sums; "mixed" does so only in
    up-sampling layers, where it gains most; "bf16_large" uses larger tiles, the fastest and the least exact.
    Style networks need `static_modulation` first. Raise `UnsupportedError` where no layer fits.
    """
    if products not in MODES:
        raise UsageError(f"There are no products {products!r}; there are: {', '.join(MODES)}.")
    copied = copy_network(network)
    assert isinstance(copied, nn.Module)
    count = _fuse_bodies(copied, products=_products(products))

    def fuse(module: nn.Module) -> nn.Module | None:
        if isinstance(module, StaticModulatedLayer):
            of_layer = _products_of(products, module)
            smallest = SMALLEST_UPSAMPLED_SIZE if module.up == 2 else SMALLEST_SIZE
            is_tiny = module.resolution < smallest and of_layer == "fp32"
            return None if is_tiny or not can_fuse(module) else FusedModulatedLayer(module, products=of_layer)
        if isinstance(module, StaticToRgbLayer):
            return FusedToRgbLayer(module)
        if isinstance(module, StaticAliasFreeLayer):
            return FusedAliasFreeLayer(module, products=_products(products))
        if isinstance(module, nn.Conv2d) and _is_plain(module):
            return FusedConvolution(module, None, products=_products(products))
        return None

    if count + replace_modules(copied, fuse) == 0:
        raise UnsupportedError(
            "The network has no layer that the native convolution computes (3×3, constant weights); apply "
            "static_modulation first, or leave fusion out."
        )
    return copied


def _products(mode: Mode) -> Products:
    return "fp32" if mode == "mixed" else mode


def _products_of(mode: Mode, layer: StaticModulatedLayer) -> Products:
    """Choose by layer: in a small one most bytes are transformed weights; small tiles have fewer, or none."""
    if mode == "mixed":
        return "bf16" if layer.up == 2 else "fp32"
    if mode == "fp32":
        return "fp32"
    if layer.resolution <= (LARGEST_DIRECT_UPSAMPLED_SIZE if layer.up == 2 else LARGEST_DIRECT_SIZE):
        return "bf16_direct"
    return "bf16" if layer.resolution <= MOST_SMALL_TILES else mode


def _fuse_bodies(network: nn.Module, *, products: Products) -> int:
    """Fuse SRVGG's convolutions with the activations that follow them."""
    if not isinstance(network, SRVGGGenerator):
        return 0
    for index in range(0, len(network.body) - 1, 2):
        convolution, activation = network.body[index], network.body[index + 1]
        slope = _slope(activation, cast(nn.Conv2d, convolution).out_channels)
        network.body[index] = FusedConvolution(cast(nn.Conv2d, convolution), slope, products=products)
        network.body[index + 1] = nn.Identity()
    return len(network.body) // 2


def _slope(activation: nn.Module, width: int) -> torch.Tensor:
    if isinstance(activation, nn.PReLU):
        return activation.weight.detach().expand(width).contiguous()
    return torch.full((width,), activation.negative_slope if isinstance(activation, nn.LeakyReLU) else 0.0)


def _is_plain(module: nn.Conv2d) -> bool:
    geometry = (module.kernel_size, module.stride, module.dilation, module.groups, module.padding_mode)
    return geometry == ((3, 3), (1, 1), (1, 1), 1, "zeros") and module.padding in ((0, 0), (1, 1))
