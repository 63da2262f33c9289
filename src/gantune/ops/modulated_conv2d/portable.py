"""modulated_conv2d with one constant weight: scale the input, convolve, scale the output.

Engines keep, pack and quantize a constant weight; the batch stays an ordinary batch.
"""

import torch
from torch import Tensor

from gantune.ops.choose import Form, never_refuses
from gantune.ops.computing_dtype import cast
from gantune.ops.modulated_conv2d.options import DEMODULATION_EPSILON, ModulatedConv2dOptions
from gantune.ops.resampled_convolution import convolve_resampled
from gantune.ops.upfirdn2d.portable import upfirdn2d_portable


def modulated_conv2d_portable(
    x: Tensor,
    weight: Tensor,
    styles: Tensor,
    noise: Tensor | None,
    resample_filter: Tensor | None,
    options: ModulatedConv2dOptions,
) -> Tensor:
    """Compute modulated_conv2d by scaling activations, never weights."""
    input_scale = styles
    output_scale = demodulation(weight, styles) if options.demodulate else None
    if x.dtype == torch.float16:
        input_scale, output_scale = keep_in_range(styles, output_scale)
    x = x * cast(input_scale[:, :, None, None], x.dtype)
    x = convolve_resampled(
        x, cast(weight, x.dtype), resample_filter, options.convolution, resample=upfirdn2d_portable
    )
    noise = None if noise is None else cast(noise, x.dtype)
    if output_scale is None:
        return x if noise is None else x + noise
    output_scale = cast(output_scale[:, :, None, None], x.dtype)
    return x * output_scale if noise is None else torch.addcmul(noise, x, output_scale)


def demodulation(weight: Tensor, styles: Tensor) -> Tensor:
    """Return the factor [N, K] that gives each output channel of a styled convolution unit variance."""
    energy = weight.square().sum(dim=[2, 3])  # [K, C]
    return (styles.square() @ energy.t() + DEMODULATION_EPSILON).rsqrt()


def keep_in_range(styles: Tensor, output_scale: Tensor | None) -> tuple[Tensor, Tensor]:
    """Move the size of the styles [N, C] behind the convolution, whose float16 input could overflow."""
    # Detached: the result does not depend on it, so neither do its derivatives.
    size = styles.detach().abs().amax(dim=1, keepdim=True).clamp_min(1e-8)
    return styles / size, size if output_scale is None else output_scale * size


FORM = Form(name="portable", run=modulated_conv2d_portable, missing=None, refusal=never_refuses)
