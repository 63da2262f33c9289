"""upfirdn2d by depthwise convolutions: transposed ones upsample, strided ones downsample.

No zero is ever inserted or multiplied, and only plain convolutions, pads and slices are used, so that any
engine can run the exported form, for any batch and image size.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from gantune.ops.choose import Form, never_refuses
from gantune.ops.computing_dtype import cast, computing_dtype
from gantune.ops.padding import Padding
from gantune.ops.upfirdn2d.options import Upfirdn2dOptions

# One pass of 4 × 4 taps beats two passes of 4 (measured: 1.5 times as fast), more taps do not.
MOST_TAPS_AS_2D = 4


def upfirdn2d_portable(x: Tensor, f: Tensor | None, options: Upfirdn2dOptions) -> Tensor:
    """Compute upfirdn2d in the memory format of `x`; half precision is computed in float32.

    Channels-last is about twice as fast, but turning planes around costs more than that gains (measured).
    """
    return cast(resample_in_float(x, f, options), x.dtype)


def resample_in_float(x: Tensor, f: Tensor | None, options: Upfirdn2dOptions) -> Tensor:
    """Compute upfirdn2d of all channels at once; half precision gives a float32 result.

    Depthwise convolutions have no fast bfloat16 path on a CPU, and float32 keeps the filter's stopband.
    """
    dtype = computing_dtype(x.dtype)
    x = cast(x, dtype)
    if f is None:
        f = torch.ones([1, 1], dtype=dtype, device=x.device)
    f = cast(f, dtype)
    if options.flip_filter:
        f = f.flip(list(range(f.ndim)))  # from here on, every step is a true convolution
    if f.ndim == 1 and f.shape[0] <= MOST_TAPS_AS_2D:
        f = f[:, None] * f[None, :]
    if f.ndim == 2:
        return _resample(x, f * options.gain, options)
    no_padding = Padding(0, 0, 0, 0)
    pad = options.padding
    rows = Upfirdn2dOptions(
        up_y=options.up_y, down_y=options.down_y, padding=no_padding._replace(y0=pad.y0, y1=pad.y1)
    )
    columns = Upfirdn2dOptions(
        up_x=options.up_x, down_x=options.down_x, padding=no_padding._replace(x0=pad.x0, x1=pad.x1)
    )
    return _resample(_resample(x, f[:, None] * options.gain, rows), f[None, :], columns)


def _resample(x: Tensor, kernel: Tensor, options: Upfirdn2dOptions) -> Tensor:
    """Resample by one true depthwise convolution with `kernel` [taps_y, taps_x]."""
    if options.up_x == 1 and options.up_y == 1:
        return _filter_down(x, kernel, options)
    x = _filter_up(x, kernel, options)
    if options.down_x == 1 and options.down_y == 1:
        return x
    return x[:, :, :: options.down_y, :: options.down_x]


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
