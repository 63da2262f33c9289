"""modulated_conv2d on a GPU: torch's own convolution; filters, demodulation and noise by Triton kernels."""

import torch
from torch import Tensor

from gantune.ops.choose import Form
from gantune.ops.computing_dtype import cast
from gantune.ops.modulated_conv2d.options import ModulatedConv2dOptions
from gantune.ops.modulated_conv2d.portable import demodulation, keep_in_range
from gantune.ops.resampled_convolution import convolve_resampled
from gantune.ops.triton.activation import activate
from gantune.ops.triton.device_facts import find_missing
from gantune.ops.triton.launching import find_refusal
from gantune.ops.upfirdn2d.triton import upfirdn2d_triton


def modulated_conv2d_triton(
    x: Tensor,
    weight: Tensor,
    styles: Tensor,
    noise: Tensor | None,
    resample_filter: Tensor | None,
    options: ModulatedConv2dOptions,
) -> Tensor:
    """Compute modulated_conv2d by scaling activations; the scale behind and the noise are one pass."""
    x, output_scale = convolve_modulated(x, weight, styles, resample_filter, options)
    return add_scaled(x, output_scale, noise)


def convolve_modulated(
    x: Tensor,
    weight: Tensor,
    styles: Tensor,
    resample_filter: Tensor | None,
    options: ModulatedConv2dOptions,
) -> tuple[Tensor, Tensor | None]:
    """Return the convolution of the scaled input, and the scale [N, K] that is still to be applied."""
    input_scale = styles
    output_scale = demodulation(weight, styles) if options.demodulate else None
    if x.dtype == torch.float16:
        input_scale, output_scale = keep_in_range(styles, output_scale)
        if output_scale.shape[1] == 1:
            output_scale = output_scale.expand(-1, weight.shape[0])
    x = activate(x, input_scale, None, None, 1, "linear", 0.0, 1.0, None)
    x = convolve_resampled(
        x, cast(weight, x.dtype), resample_filter, options.convolution, resample=upfirdn2d_triton
    )
    return x, output_scale


def add_scaled(x: Tensor, scale: Tensor | None, noise: Tensor | None) -> Tensor:
    """Return scale · x + noise, in one pass where the noise is one plane a sample."""
    plane = None
    if noise is not None:
        shaped = noise.reshape([1] * (4 - noise.ndim) + list(noise.shape))
        plane = shaped if shaped.shape[1] == 1 else None
    if scale is not None or plane is not None:
        x = activate(x, scale, plane, None, 1, "linear", 0.0, 1.0, None)
    return x if noise is None or plane is not None else x + cast(noise, x.dtype)


def _refuse(
    x: Tensor,
    weight: Tensor,
    styles: Tensor,
    noise: Tensor | None,
    resample_filter: Tensor | None,
    options: ModulatedConv2dOptions,
) -> str | None:
    return find_refusal([x, weight, styles, noise], [resample_filter])


FORM = Form(
    name="triton", run=modulated_conv2d_triton, missing=find_missing(), refusal=_refuse, devices=("cuda",)
)
