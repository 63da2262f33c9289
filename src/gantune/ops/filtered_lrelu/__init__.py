"""filtered_lrelu: a leaky ReLU that does not alias, computed at a higher rate (StyleGAN3).

    u = upfirdn2d(x + b, fu, up, padding, gain = up²)
    a = clamp(gain · lrelu(u, slope), −clamp, clamp)
    result = upfirdn2d(a, fd, down)

A missing filter is the identity; `flip_filter` goes for both filters. Source: Karras et al., "Alias-Free
Generative Adversarial Networks", 2021, section 3.2.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from gantune.ops.bias_act import check_bias
from gantune.ops.choose import Operation
from gantune.ops.filtered_lrelu import native, portable, reference, triton
from gantune.ops.filtered_lrelu.options import FilteredLreluOptions, parse_options
from gantune.ops.resampling_filter import check_filter, filter_taps
from gantune.ops.upfirdn2d import check_call as check_upfirdn2d

OPERATION: Operation[Tensor | None, Tensor | None, Tensor | None, FilteredLreluOptions] = Operation(
    "filtered_lrelu",
    forms=(
        native.FORM,
        triton.FORM,
        portable.FORM,
        reference.FORM,
    ),
)


def filtered_lrelu(
    x: Tensor,
    fu: Tensor | None = None,
    fd: Tensor | None = None,
    b: Tensor | None = None,
    up: int = 1,
    down: int = 1,
    padding: int | Sequence[int] = 0,
    gain: float = math.sqrt(2),
    slope: float = 0.2,
    clamp: float | None = None,
    flip_filter: bool = False,
    *,
    implementation: str | None = None,
) -> Tensor:
    """Add bias, upsample, apply leaky ReLU with gain and clamp, and downsample `x` [N, C, H, W].

    `fu` and `fd` come from `setup_filter`; `padding` is on the upsampled image: one number, [x, y] or
    [x0, x1, y0, y1], negative to crop. Raises UsageError for wrong options and where a filter does not fit.
    """
    options = parse_options(up, down, padding, gain=gain, slope=slope, clamp=clamp, flip_filter=flip_filter)
    _check_call(x, fu, fd, b, options)
    return OPERATION.run(implementation, x, fu, fd, b, options)


def _check_call(
    x: Tensor, fu: Tensor | None, fd: Tensor | None, b: Tensor | None, options: FilteredLreluOptions
) -> None:
    check_upfirdn2d(x, fu, options.up_options)
    check_filter(fd)
    check_bias(x, b, 1)
    if not torch.compiler.is_compiling():
        up_taps_x, up_taps_y = filter_taps(fu)
        height, width = options.up_options.output_size(
            x.shape[2], x.shape[3], taps_y=up_taps_y, taps_x=up_taps_x
        )
        taps_x, taps_y = filter_taps(fd)
        options.down_options.check_size(height, width, taps_y=taps_y, taps_x=taps_x)
