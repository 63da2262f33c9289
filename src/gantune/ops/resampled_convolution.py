"""Convolution with built-in up- or downsampling: which steps, in which order, with which padding.

    result = upfirdn2d(correlate(upfirdn2d(x, f, up, P, gain = up²), w), f, down)

where P is the given padding, grown so that sizes are exactly × up and / down (`grow_for_up`,
`grow_for_down`).
Filtering and convolution commute, so the steps are put in the cheapest order.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor

from gantune.ops.padding import Padding
from gantune.ops.upfirdn2d import grow_for_down, grow_for_up
from gantune.ops.upfirdn2d.options import Upfirdn2dOptions

Resample = Callable[[Tensor, Tensor | None, Upfirdn2dOptions], Tensor]


@dataclass(frozen=True)
class ConvolutionOptions:
    """Factors, padding (on the upsampled image), groups and orientation of weight and filter."""

    up: int = 1
    down: int = 1
    padding: Padding = Padding(0, 0, 0, 0)  # noqa: RUF009  (a NamedTuple is immutable)
    groups: int = 1
    flip_weight: bool = True
    flip_filter: bool = False


def convolve_resampled(
    x: Tensor, w: Tensor, f: Tensor | None, options: ConvolutionOptions, *, resample: Resample
) -> Tensor:
    """Convolve `x` [N, C, H, W] with `w` [K, C / groups, kh, kw], resampling with `f` by `resample`.

    `flip_weight=True` is correlation, as in torch's own convolutions.
    """
    padding = options.padding
    if options.up > 1:
        padding = Padding(*grow_for_up(padding, f, options.up, options.up))
    if options.down > 1:
        padding = Padding(*grow_for_down(padding, f, options.down, options.down))
    if options.up > 1:
        x = _convolve_up(x, w, f, padding, options, resample)
        if options.down == 1:
            return x
        return resample(x, f, _options(down=options.down, flip_filter=options.flip_filter))
    if not options.flip_weight:
        w = w.flip([2, 3])
    if options.down > 1:
        return _convolve_down(x, w, f, padding, options, resample)
    return _convolve_plainly(x, w, padding, options.groups)


def _convolve_up(
    x: Tensor, w: Tensor, f: Tensor | None, padding: Padding, options: ConvolutionOptions, resample: Resample
) -> Tensor:
    up, groups, flip_filter = options.up, options.groups, options.flip_filter
    gain = float(up * up)
    kh, kw = w.shape[2:]
    if kh == 1 and kw == 1:
        x = F.conv2d(x, w, groups=groups)
        return resample(x, f, _options(up=up, padding=padding, flip_filter=flip_filter, gain=gain))
    rest = padding.grow(1 - kw, up - kw, 1 - kh, up - kh)
    crop_x = max(0, min(-rest.x0, -rest.x1))
    crop_y = max(0, min(-rest.y0, -rest.y1))
    if options.flip_weight:
        w = w.flip([2, 3])  # a transposed convolution is a true convolution
    x = F.conv_transpose2d(x, _transpose(w, groups), stride=up, padding=(crop_y, crop_x), groups=groups)
    rest = rest.grow(crop_x, crop_x, crop_y, crop_y)
    return resample(x, f, _options(padding=rest, flip_filter=flip_filter, gain=gain))


def _convolve_down(
    x: Tensor, w: Tensor, f: Tensor | None, padding: Padding, options: ConvolutionOptions, resample: Resample
) -> Tensor:
    down, groups, flip_filter = options.down, options.groups, options.flip_filter
    if w.shape[2] == 1 and w.shape[3] == 1:
        x = resample(x, f, _options(down=down, padding=padding, flip_filter=flip_filter))
        return F.conv2d(x, w, groups=groups)
    x = resample(x, f, _options(padding=padding, flip_filter=flip_filter))
    return F.conv2d(x, w, stride=down, groups=groups)


def _convolve_plainly(x: Tensor, w: Tensor, padding: Padding, groups: int) -> Tensor:
    if padding.x0 == padding.x1 >= 0 and padding.y0 == padding.y1 >= 0:
        return F.conv2d(x, w, padding=(padding.y0, padding.x0), groups=groups)
    return F.conv2d(F.pad(x, list(padding)), w, groups=groups)


def _transpose(w: Tensor, groups: int) -> Tensor:
    """Turn the weight [K, C/g, kh, kw] of a convolution into that of a transposed one [C, K/g, kh, kw]."""
    if groups == 1:
        return w.transpose(0, 1)
    K, C, kh, kw = w.shape
    return w.reshape(groups, K // groups, C, kh, kw).transpose(1, 2).reshape(groups * C, K // groups, kh, kw)


def _options(
    *,
    up: int = 1,
    down: int = 1,
    padding: Padding = Padding(0, 0, 0, 0),  # noqa: B008  (a NamedTuple is immutable)
    flip_filter: bool,
    gain: float = 1.0,
) -> Upfirdn2dOptions:
    return Upfirdn2dOptions(up, up, down, down, padding, flip_filter, gain)
