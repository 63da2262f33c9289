"""modulated_conv2d by its definition: one convolution weight for each sample."""

from dataclasses import replace

from torch import Tensor

from gantune.ops.choose import Form, never_refuses
from gantune.ops.modulated_conv2d.options import DEMODULATION_EPSILON, ModulatedConv2dOptions
from gantune.ops.resampled_convolution import convolve_resampled
from gantune.ops.upfirdn2d.reference import upfirdn2d_reference


def modulated_conv2d_reference(
    x: Tensor,
    weight: Tensor,
    styles: Tensor,
    noise: Tensor | None,
    resample_filter: Tensor | None,
    options: ModulatedConv2dOptions,
) -> Tensor:
    """Compute modulated_conv2d with the batch folded into groups, or with scaled activations.

    With `fused_modconv` each sample has its own weight and all are one grouped convolution; without, the
    input is scaled by the styles and the output by the demodulation: the same result, other memory.
    """
    w = weight[None] * styles[:, None, :, None, None]  # [N, K, C, kh, kw]
    demodulation = (w.square().sum(dim=[2, 3, 4]) + DEMODULATION_EPSILON).rsqrt()  # [N, K]
    if options.fused_modconv:
        if options.demodulate:
            w = w * demodulation[:, :, None, None, None]
        x = _convolve_grouped(x, w, resample_filter, options)
    else:
        x = x * styles[:, :, None, None].to(x.dtype)
        x = convolve_resampled(
            x, weight.to(x.dtype), resample_filter, options.convolution, resample=upfirdn2d_reference
        )
        if options.demodulate:
            x = x * demodulation[:, :, None, None].to(x.dtype)
    return x if noise is None else x + noise.to(x.dtype)


def _convolve_grouped(
    x: Tensor, w: Tensor, resample_filter: Tensor | None, options: ModulatedConv2dOptions
) -> Tensor:
    N, K, C, kh, kw = w.shape
    x = convolve_resampled(
        x.reshape(1, N * C, *x.shape[2:]),
        w.reshape(N * K, C, kh, kw).to(x.dtype),
        resample_filter,
        replace(options.convolution, groups=N),
        resample=upfirdn2d_reference,
    )
    return x.reshape(N, K, *x.shape[2:])


FORM = Form(name="reference", run=modulated_conv2d_reference, missing=None, refusal=never_refuses)
