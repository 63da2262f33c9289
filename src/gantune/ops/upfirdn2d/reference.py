"""upfirdn2d by its definition: zero insertion, padding, convolution, decimation."""

import torch.nn.functional as F
from torch import Tensor

from gantune.ops.choose import Form, never_refuses
from gantune.ops.upfirdn2d.options import Upfirdn2dOptions


def upfirdn2d_reference(x: Tensor, f: Tensor | None, options: Upfirdn2dOptions) -> Tensor:
    """Compute upfirdn2d step by step as its definition says."""
    x = insert_zeros(x, up_y=options.up_y, up_x=options.up_x)
    x = F.pad(x, [max(0, side) for side in options.padding])
    x = F.pad(x, [min(0, side) for side in options.padding])  # negative: cropped
    x = convolve(x, f, gain=options.gain, flip_filter=options.flip_filter)
    return x[:, :, :: options.down_y, :: options.down_x]


def insert_zeros(x: Tensor, *, up_y: int, up_x: int) -> Tensor:
    """Put `up − 1` zeros after each sample: [N, C, H, W] to [N, C, H·up_y, W·up_x]."""
    N, C, H, W = x.shape
    x = x.reshape(N, C, H, 1, W, 1)
    x = F.pad(x, [0, up_x - 1, 0, 0, 0, up_y - 1])
    return x.reshape(N, C, H * up_y, W * up_x)


def convolve(x: Tensor, f: Tensor | None, *, gain: float, flip_filter: bool) -> Tensor:
    """Convolve each channel with `f` (correlate with `flip_filter`), only where the filter fits."""
    if f is None:
        return x * gain
    C = x.shape[1]
    f = f if flip_filter else f.flip(list(range(f.ndim)))
    scaled = (f * gain).to(x.dtype)
    if f.ndim == 2:
        return F.conv2d(x, scaled.expand(C, 1, -1, -1), groups=C)
    x = F.conv2d(x, scaled[:, None].expand(C, 1, -1, -1), groups=C)
    return F.conv2d(x, f.to(x.dtype)[None, :].expand(C, 1, -1, -1), groups=C)


FORM = Form(name="reference", run=upfirdn2d_reference, missing=None, refusal=never_refuses)
