"""Fold everything that depends on no input into constants: gains, statistics, spectral norms."""

from torch import nn

from gantune.networks.biggan_layers import ConditionalNorm, StoredNorm
from gantune.networks.dcgan import DCGANLayer
from gantune.networks.equalized import EqualizedConv2d, EqualizedLinear
from gantune.networks.spectral_norm import SpectralConv2d, SpectralLinear
from gantune.networks.stylegan2_synthesis import ToRgbLayer
from gantune.transforms.frozen_layers import (
    FrozenConv2d,
    fold_torgb_gain,
    freeze_linear,
)
from gantune.transforms.frozen_norms import (
    FrozenConditionalNorm,
    fold_batch_norm,
    fold_norms_of_sequence,
    freeze_spectral_convolution,
    freeze_spectral_linear,
    freeze_stored_norm,
)
from gantune.transforms.module_tree import NetworkT, copy_network, replace_modules


def freeze(network: NetworkT) -> NetworkT:
    """Return a copy whose constants are folded; exact for every family, and again a network by contract."""
    copied = copy_network(network)
    assert isinstance(copied, nn.Module)
    for module in copied.modules():
        if isinstance(module, ToRgbLayer):
            fold_torgb_gain(module)
        elif isinstance(module, DCGANLayer):
            fold_batch_norm(module)
        elif isinstance(module, nn.Sequential):
            fold_norms_of_sequence(module)
    replace_modules(copied, _freeze_module)
    return copied


def _freeze_module(module: nn.Module) -> nn.Module | None:
    if isinstance(module, EqualizedLinear):
        return freeze_linear(module)
    if isinstance(module, EqualizedConv2d) and module.down == 1:
        return FrozenConv2d(module)
    if isinstance(module, ConditionalNorm):
        return FrozenConditionalNorm(module)
    if isinstance(module, StoredNorm):
        return freeze_stored_norm(module)
    if isinstance(module, SpectralConv2d):
        return freeze_spectral_convolution(module)
    if isinstance(module, SpectralLinear):
        return freeze_spectral_linear(module)
    return None
