"""modulated_conv2d with one constant weight, torch's convolution, and the resampling and the ending in C++.

The ending (demodulation, noise and, for a whole layer, bias, activation, gain and clamp) is one pass over
memory. It serves inference; where autograd records, the same steps are differentiable operations of torch.
"""

from math import inf

import torch
from torch import Tensor

from gantune.ops.bias_act.native import KINDS
from gantune.ops.bias_act.options import BiasActOptions
from gantune.ops.choose import Form
from gantune.ops.computing_dtype import cast
from gantune.ops.modulated_conv2d.options import ModulatedConv2dOptions
from gantune.ops.modulated_conv2d.portable import demodulation
from gantune.ops.native import structures as c
from gantune.ops.native.library import missing_reason, run_pointwise
from gantune.ops.native.operators import native_operator
from gantune.ops.native.qualification import refuse
from gantune.ops.resampled_convolution import convolve_resampled
from gantune.ops.upfirdn2d.native import upfirdn2d_native


def modulated_conv2d_native(
    x: Tensor,
    weight: Tensor,
    styles: Tensor,
    noise: Tensor | None,
    resample_filter: Tensor | None,
    options: ModulatedConv2dOptions,
) -> Tensor:
    """Compute modulated_conv2d by scaling activations, never weights."""
    scale = demodulation(weight, styles) if options.demodulate else None
    x = x * cast(styles[:, :, None, None], x.dtype)
    x = convolve_resampled(
        x, cast(weight, x.dtype), resample_filter, options.convolution, resample=upfirdn2d_native
    )
    if scale is None and noise is None:
        return x
    recorded = (x, scale, noise)
    if torch.is_grad_enabled() and any(tensor is not None and tensor.requires_grad for tensor in recorded):
        return _end_in_torch(x, scale, noise)
    return end_layer(x, scale, noise, None, None)


def end_layer(
    x: Tensor,
    scale: Tensor | None,
    noise: Tensor | None,
    b: Tensor | None,
    options: BiasActOptions | None,
    *,
    strength: float = 1.0,
    scale_out: Tensor | None = None,
) -> Tensor:
    """Return scale_out · bias_act(scale · x + strength · noise, b) in one pass, without gradients.

    Scales are [N, C], `noise` [N or 1, 1, H, W] or [H, W]; what is None is left out.
    """
    options = BiasActOptions(1, "linear", 0.0, 1.0, None) if options is None else options
    result: Tensor = torch.ops.gantune.end_layer(
        x,
        scale,
        noise,
        b,
        scale_out,
        options.act,
        options.alpha,
        options.gain,
        inf if options.clamp is None else options.clamp,
        strength,
    )
    return result


@native_operator("end_layer")
def _end_layer(
    x: Tensor,
    scale: Tensor | None,
    noise: Tensor | None,
    b: Tensor | None,
    scale_out: Tensor | None,
    act: str,
    alpha: float,
    gain: float,
    clamp: float,
    strength: float,
) -> Tensor:
    N, C, H, W = x.shape
    y = c.empty_result(x, H, W)
    channels_last = not y.is_contiguous()
    x = x.contiguous(memory_format=torch.channels_last if channels_last else torch.contiguous_format)
    scale, noise, b, scale_out = map(c.as_floats, (scale, noise, b, scale_out))
    request = c.PointwiseRequest(
        x=c.address(x),
        y=c.address(y),
        scale=c.address(scale),
        scale_out=c.address(scale_out),
        bias=c.address(b),
        noise=c.address(noise),
        samples=N,
        channels=C,
        pixels=H * W,
        noise_stride=0 if noise is None or noise.numel() == H * W else H * W,
        channels_last=channels_last,
        type=c.ELEMENT_TYPES[x.dtype],
        kind=KINDS.index(act),
        alpha=alpha,
        gain=gain,
        clamp=clamp,
        strength=strength,
    )
    run_pointwise(request, num_threads=torch.get_num_threads())
    return y


@_end_layer.register_fake
def _(
    x: Tensor,
    scale: Tensor | None,
    noise: Tensor | None,
    b: Tensor | None,
    scale_out: Tensor | None,
    act: str,
    alpha: float,
    gain: float,
    clamp: float,
    strength: float,
) -> Tensor:
    return c.empty_result(x, x.shape[2], x.shape[3])


def _end_in_torch(x: Tensor, scale: Tensor | None, noise: Tensor | None) -> Tensor:
    noise = None if noise is None else cast(noise, x.dtype)
    if scale is None:
        return x if noise is None else x + noise
    scale = cast(scale[:, :, None, None], x.dtype)
    return x * scale if noise is None else torch.addcmul(noise, x, scale)


def _refuse(
    x: Tensor,
    weight: Tensor,
    styles: Tensor,
    noise: Tensor | None,
    resample_filter: Tensor | None,
    options: ModulatedConv2dOptions,
) -> str | None:
    if noise is not None and tuple(noise.shape[-4:-2]) not in ((), (1,), (1, 1), (x.shape[0], 1)):
        return "noise is not one image for all samples, or one a sample"
    return refuse(x, resample_filter)


FORM = Form(
    name="native", run=modulated_conv2d_native, missing=missing_reason(), refusal=_refuse, devices=("cpu",)
)
