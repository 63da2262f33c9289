"""Take the mean error of rounded weights out again, through the bias.

A layer's output moves by (W_rounded − W)·E[x] on average, and E[x] is known from calibration (Nagel et al.,
arXiv 1906.04721, section 4.2). The image's border is neglected.
"""

from typing import cast

import torch
from torch import Tensor, nn

from gantune.transforms.quantize.layers import DenseLayer


def correct_bias(layer: DenseLayer, error: Tensor, channel_means: Tensor) -> None:
    """Subtract the mean output error of a weight `error` in place; layers without a place for a bias stay."""
    module = layer.module
    if not isinstance(module, nn.Conv2d | nn.ConvTranspose2d | nn.Linear):
        return
    shift = mean_shift(layer, error, channel_means)
    bias = torch.zeros_like(shift) if module.bias is None else module.bias.detach()
    module.bias = nn.Parameter(bias - shift, requires_grad=False)


def mean_shift(layer: DenseLayer, error: Tensor, channel_means: Tensor) -> Tensor:
    """Return how far each output channel moves on average for inputs with these channel means."""
    groups = layer.groups
    means = channel_means.reshape(groups, -1)
    if layer.kind == "transposed":
        stride = cast(tuple[int, ...], layer.module.stride)
        taps = error.flatten(2).sum(dim=2).reshape(groups, means.shape[1], -1)
        return (means[:, :, None] * taps).sum(dim=1).flatten() / (stride[0] * stride[1])
    taps = (error.flatten(2).sum(dim=2) if error.ndim == 4 else error).reshape(groups, -1, means.shape[1])
    return (taps * means[:, None, :]).sum(dim=2).flatten()
