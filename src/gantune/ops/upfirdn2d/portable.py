"""upfirdn2d by depthwise convolutions: transposed ones upsample, strided ones downsample.

No zero is ever inserted or multiplied, and only plain convolutions, pads and slices are used, so that any
engine can run the exported form, for any batch and image size.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from gantune.ops.choose import Form, never_refuses
from gantune.ops.computing_dtype import cast, computing_dtype
from gantune.ops.padding import Padding
from gantune.ops.upfirdn2d.options import Upfirdn2dOptions

# One pass of 4 × 4 taps beats two passes of 4 (measured: 1.5 times as fast), more taps do not.
MOST_TAPS_AS_2D = 4


@dataclass(frozen=True)
class Pass:
    """One depthwise convolution: `kernel` [taps_y, taps_x] is convolved (not correlated), gain included."""

    kernel: Tensor
    options: Upfirdn2dOptions


def upfirdn2d_portable(x: Tensor, f: Tensor | None, options: Upfirdn2dOptions) -> Tensor:
    """Compute upfirdn2d in the memory format of `x`; half precision is computed in float32.

    Channels-last is about twice as fast, but turning planes around costs more than that gains (measured).
    Depthwise convolutions have no fast bfloat16 path on a CPU, and float32 keeps the filter's stopband.
    """
    dtype = computing_dtype(x.dtype)
    if f is None:
        f = torch.ones([1, 1], dtype=dtype, device=x.device)
    return cast(run_passes(cast(x, dtype), plan_passes(cast(f, dtype), options)), x.dtype)


def plan_passes(f: Tensor, options: Upfirdn2dOptions) -> tuple[Pass, ...]:
    """Split upfirdn2d with filter `f` into passes: one for a 2-D or short filter, else one for each axis."""
    if options.flip_filter:
        f = f.flip(list(range(f.ndim)))
    if f.ndim == 1 and f.shape[0] <= MOST_TAPS_AS_2D:
        f = f[:, None] * f[None, :]
    if f.ndim == 2:
        return (Pass(_scale(f, options.gain), options),)
    pad = options.padding
    vertical = Upfirdn2dOptions(
        up_y=options.up_y, down_y=options.down_y, padding=Padding(0, 0, pad.y0, pad.y1)
    )
    horizontal = Upfirdn2dOptions(
        up_x=options.up_x, down_x=options.down_x, padding=Padding(pad.x0, pad.x1, 0, 0)
    )
    passes = (Pass(_scale(f, options.gain)[:, None], vertical), Pass(f[None, :], horizontal))
    # Measured: going down, the horizontal pass is the better one to run on the large image.
    return passes if options.down_x == 1 else passes[::-1]


def run_passes(x: Tensor, passes: tuple[Pass, ...]) -> Tensor:
    """Run passes one after another on `x` [N, C, H, W], in the dtype of their kernels."""
    for each in passes:
        options = each.options
        if options.up_x == 1 and options.up_y == 1:
            x = _filter_down(x, each.kernel, options)
        else:
            x = _filter_up(x, each.kernel, options)
            if options.down_x > 1 or options.down_y > 1:
                x = x[:, :, :: options.down_y, :: options.down_x]
    return x


def _scale(f: Tensor, gain: float) -> Tensor:
    return f if gain == 1 else f * gain


def _filter_down(x: Tensor, kernel: Tensor, options: Upfirdn2dOptions) -> Tensor:
    C, pad = x.shape[1], options.padding
    both_x, both_y = max(0, min(pad.x0, pad.x1)), max(0, min(pad.y0, pad.y1))
    x = pad_or_crop(x, pad.grow(-both_x, -both_x, -both_y, -both_y))
    return F.conv2d(
        x,
        kernel.flip([0, 1]).expand(C, 1, -1, -1),
        stride=(options.down_y, options.down_x),
        padding=(both_y, both_x),
        groups=C,
    )


def _filter_up(x: Tensor, kernel: Tensor, options: Upfirdn2dOptions) -> Tensor:
    C, pad = x.shape[1], options.padding
    taps_y, taps_x = kernel.shape
    shared_y, extra_y, top, bottom = _split_crop(
        taps_y - 1 - pad.y0, taps_y - options.up_y - pad.y1, options.up_y
    )
    shared_x, extra_x, left, right = _split_crop(
        taps_x - 1 - pad.x0, taps_x - options.up_x - pad.x1, options.up_x
    )
    x = F.conv_transpose2d(
        x,
        kernel.expand(C, 1, -1, -1),
        stride=(options.up_y, options.up_x),
        padding=(shared_y, shared_x),
        output_padding=(extra_y, extra_x),
        groups=C,
    )
    return pad_or_crop(x, Padding(-left, -right, -top, -bottom))


def _split_crop(before: int, after: int, up: int) -> tuple[int, int, int, int]:
    """Split what is to be cropped from the full transposed convolution (negative: zeros to be added).

    Returns the convolution's own padding and output padding, and what is left to crop before and after.
    """
    if before >= 0 and 0 <= before - after < up:
        return before, before - after, 0, 0
    shared = max(0, min(before, after))
    return shared, 0, before - shared, after - shared


def pad_or_crop(x: Tensor, padding: Padding) -> Tensor:
    """Add zeros at the sides of `x` [N, C, H, W], or crop where the padding is negative."""
    x0, x1, y0, y1 = padding
    # Zeros first: a crop may reach beyond the image into the zeros of the other side.
    if max(padding) > 0:
        x = F.pad(x, [max(0, side) for side in padding])
    if min(padding) < 0:
        x = x[:, :, max(0, -y0) : min(0, y1) or None, max(0, -x0) : min(0, x1) or None]
    return x


FORM = Form(name="portable", run=upfirdn2d_portable, missing=None, refusal=never_refuses)
