"""Normalizations with stored statistics, and spectrally normalized layers, as constants."""

from itertools import pairwise
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from gantune.networks.biggan_layers import NORM_EPSILON, ConditionalNorm, StoredNorm
from gantune.networks.dcgan import DCGANLayer
from gantune.networks.spectral_norm import SpectralConv2d, SpectralLinear


class FrozenConditionalNorm(nn.Module):
    """Scale and shift [N, C, H, W] by numbers linear in a condition; the statistics are folded into both."""

    rate: Tensor
    mean: Tensor

    def __init__(self, norm: ConditionalNorm) -> None:
        super().__init__()
        self.gain = freeze_spectral_linear(norm.gain)
        self.bias = freeze_spectral_linear(norm.bias)
        self.register_buffer("rate", torch.rsqrt(norm.stored_var + NORM_EPSILON))
        self.register_buffer("mean", norm.stored_mean.clone())

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        """Return the normalized `x` under `condition`."""
        scale = (1 + self.gain(condition)) * self.rate
        shift = self.bias(condition) - self.mean * scale
        return torch.addcmul(shift[:, :, None, None], x, scale[:, :, None, None])


class ChannelAffine(nn.Module):
    """Scale and shift each channel of [N, C, H, W] by constants."""

    scale: Tensor
    shift: Tensor

    def __init__(self, scale: Tensor, shift: Tensor) -> None:
        super().__init__()
        self.register_buffer("scale", scale[:, None, None])
        self.register_buffer("shift", shift[:, None, None])

    def forward(self, x: Tensor) -> Tensor:
        """Return x·scale + shift."""
        return torch.addcmul(self.shift, x, self.scale)


def freeze_stored_norm(norm: StoredNorm) -> ChannelAffine:
    """Fold statistics, gain and bias into one scale and one shift."""
    scale = norm.gain.detach() * torch.rsqrt(norm.stored_var + NORM_EPSILON)
    return ChannelAffine(scale, norm.bias.detach() - norm.stored_mean * scale)


def freeze_spectral_convolution(layer: SpectralConv2d) -> nn.Conv2d:
    """Divide the weight by its largest singular value once."""
    K, C, size, _ = layer.weight.shape
    frozen = nn.Conv2d(C, K, size, padding=layer.padding, bias=layer.bias is not None)  # type: ignore[arg-type]
    frozen.weight = nn.Parameter(layer.normalized_weight().detach())
    frozen.bias = layer.bias
    return frozen


def freeze_spectral_linear(layer: SpectralLinear) -> nn.Linear:
    """Divide the weight by its largest singular value once."""
    frozen = nn.Linear(layer.in_features, layer.out_features, bias=layer.bias is not None)
    frozen.weight = nn.Parameter(layer.normalized_weight().detach())
    frozen.bias = layer.bias
    return frozen


def fold_batch_norm(layer: DCGANLayer) -> None:
    """Fold a batch normalization into the convolution before it, in place."""
    if layer.norm is not None:
        is_transposed = isinstance(layer.conv, nn.ConvTranspose2d)
        convolution = cast(nn.Conv2d, layer.conv)
        layer.conv = fuse_conv_bn_eval(convolution, layer.norm, transpose=is_transposed)
        layer.norm = None
    layer.dropout = None


def fold_norms_of_sequence(layers: nn.Sequential) -> None:
    """Fold what follows each convolution of a chain into it, in place, and take dropouts out.

    Batch normalization becomes part of the convolution. An instance normalization subtracts each channel's
    mean, so that the bias before it changes nothing and only costs precision: it goes.
    """
    for index, (layer, norm) in enumerate(pairwise(layers)):
        if not isinstance(layer, nn.Conv2d | nn.ConvTranspose2d):
            continue
        if isinstance(norm, nn.BatchNorm2d):
            is_transposed = isinstance(layer, nn.ConvTranspose2d)
            layers[index] = fuse_conv_bn_eval(cast(nn.Conv2d, layer), norm, transpose=is_transposed)
            layers[index + 1] = nn.Identity()
        elif isinstance(norm, nn.InstanceNorm2d) and not norm.track_running_stats:
            layer.bias = None
    for index, layer in enumerate(layers):
        if isinstance(layer, nn.Dropout):
            layers[index] = nn.Identity()
