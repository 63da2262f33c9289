"""Even out the ranges of a styled convolution's input channels; the styles carry the scales, so it is exact.

One grid serves all channels of an activation, and the widest channel sets its step. conv(x·s, w) equals
conv(x·(s/c), w·c), and demodulation does not change, since (s/c)²·Σ(w·c)² = s²·Σw². The scales
c = peak(x·s)^α / peak(w)^(1−α) share the difficulty between activations and weights (cross-layer
equalization, Nagel et al., arXiv 1906.04721, section 4.1; α as in Xiao et al., arXiv 2211.10438).
"""

from typing import cast

import torch
from torch import Tensor, nn

from gantune.errors import UsageError
from gantune.transforms.module_tree import NetworkT, copy_network
from gantune.transforms.quantize.calibration import Calibration
from gantune.transforms.static_layers import StaticModulatedLayer
from gantune.transforms.up_convolution import UpConvolution

_SMALLEST = 1e-5


def equalize(network: NetworkT, calibration: Calibration, *, strength: float = 0.5) -> NetworkT:
    """Return an equal network whose styled convolutions meet even ranges; calibrate it anew.

    `strength` α 0 evens out the weights alone, 1 the activations alone. Layers without styles stay.
    """
    if not 0 <= strength <= 1:
        raise UsageError(f"The strength of equalization is {strength:g}; it must be from 0 to 1.")
    copied = copy_network(network)
    assert isinstance(copied, nn.Module)
    for name, module in copied.named_modules():
        record = calibration.layers.get(f"{name}.convolution")
        if isinstance(module, StaticModulatedLayer) and record is not None:
            _rescale(module, _choose_scales(module, record.channel_peaks, strength))
    return copied


def _choose_scales(layer: StaticModulatedLayer, peaks: Tensor, strength: float) -> Tensor:
    """Choose one scale a channel, with geometric mean 1; dead channels keep their size."""
    weight = _original_weight(layer)
    weight_peaks = weight.abs().amax(dim=(0, 2, 3))
    is_alive = (peaks > _SMALLEST * peaks.max()) & (weight_peaks > _SMALLEST * weight_peaks.max())
    logs = strength * peaks.clamp(min=1e-30).log() - (1 - strength) * weight_peaks.clamp(min=1e-30).log()
    logs = torch.where(is_alive, logs - logs[is_alive].mean(), torch.zeros_like(logs))
    return logs.exp()


def _rescale(layer: StaticModulatedLayer, scales: Tensor) -> None:
    affine = layer.affine
    with torch.no_grad():
        affine.weight.div_(scales[:, None])
        affine.bias.div_(scales)
        layer.weight_square.mul_(scales.square()[:, None])
        weight = _original_weight(layer) * scales[:, None, None]
        if isinstance(layer.convolution, UpConvolution):
            resample_filter = layer.convolution.original[1]
            layer.convolution = UpConvolution(weight, resample_filter, layer.convolution.form)
            layer.convolution.eval().requires_grad_(False)
        else:
            cast(Tensor, layer.convolution.weight).copy_(weight)


def _original_weight(layer: StaticModulatedLayer) -> Tensor:
    """Give the weight [K, C, k, k], whatever form the convolution has it in."""
    if isinstance(layer.convolution, UpConvolution):
        return layer.convolution.original[0]
    return cast(Tensor, layer.convolution.weight)
