"""upfirdn2d: upsample, filter and downsample images.

    z[n, c, y·up_y, x·up_x] = x[n, c, y, x], zero elsewhere           (size H·up_y × W·up_x)
    p = z padded by [x0, x1, y0, y1] zeros; a negative number crops
    q[n, c, y, x] = gain · Σ_{i,j} f[i, j] · p[n, c, y + taps_y − 1 − i, x + taps_x − 1 − j]
    result[n, c, y, x] = q[n, c, y·down_y, x·down_x]

The filter is convolved; with `flip_filter` it is correlated. A 1-D filter f stands for f[i]·f[j], no filter
for the identity. With size H·up_y + y0 + y1 − taps_y the height of the result is that // down_y + 1.
The operation is linear: its gradient is an upfirdn2d with up and down exchanged and the filter flipped.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from gantune.errors import UsageError
from gantune.ops.choose import Operation
from gantune.ops.padding import parse_factor, parse_padding
from gantune.ops.resampling_filter import check_filter, filter_taps
from gantune.ops.upfirdn2d import native, portable, reference, triton
from gantune.ops.upfirdn2d.options import Upfirdn2dOptions, parse_options

OPERATION: Operation[Tensor | None, Upfirdn2dOptions] = Operation(
    "upfirdn2d",
    forms=(
        native.FORM,
        triton.FORM,
        portable.FORM,
        reference.FORM,
    ),
)


def upfirdn2d(
    x: Tensor,
    f: Tensor | None,
    up: int | Sequence[int] = 1,
    down: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    flip_filter: bool = False,
    gain: float = 1,
    *,
    implementation: str | None = None,
) -> Tensor:
    """Upsample by zero insertion, pad, filter and downsample each channel of `x` [N, C, H, W].

    `up` and `down` are one number or [x, y]; `padding` is on the upsampled image: one number, [x, y] or
    [x0, x1, y0, y1], negative to crop; `f` comes from `setup_filter`. Raises UsageError for wrong options
    and where the padded image is smaller than the filter.
    """
    options = parse_options(up, down, padding, flip_filter=flip_filter, gain=gain)
    check_call(x, f, options)
    return OPERATION.run(implementation, x, f, options)


def filter2d(
    x: Tensor,
    f: Tensor | None,
    padding: int | Sequence[int] = 0,
    flip_filter: bool = False,
    gain: float = 1,
    *,
    implementation: str | None = None,
) -> Tensor:
    """Filter each channel of `x` [N, C, H, W] at unchanged size; `padding` comes on top."""
    grown = grow_for_down(padding, f, 1, 1)
    return upfirdn2d(x, f, padding=grown, flip_filter=flip_filter, gain=gain, implementation=implementation)


def upsample2d(
    x: Tensor,
    f: Tensor | None,
    up: int | Sequence[int] = 2,
    padding: int | Sequence[int] = 0,
    flip_filter: bool = False,
    gain: float = 1,
    *,
    implementation: str | None = None,
) -> Tensor:
    """Enlarge each channel of `x` [N, C, H, W] `up` times, keeping its mean; `padding` comes on top."""
    up_x, up_y = parse_factor(up, name="up")
    grown = grow_for_up(padding, f, up_x, up_y)
    gain = gain * up_x * up_y
    return upfirdn2d(x, f, up, 1, grown, flip_filter, gain, implementation=implementation)


def downsample2d(
    x: Tensor,
    f: Tensor | None,
    down: int | Sequence[int] = 2,
    padding: int | Sequence[int] = 0,
    flip_filter: bool = False,
    gain: float = 1,
    *,
    implementation: str | None = None,
) -> Tensor:
    """Shrink each channel of `x` [N, C, H, W] to 1 / `down` of its size; `padding` comes on top."""
    down_x, down_y = parse_factor(down, name="down")
    grown = grow_for_down(padding, f, down_x, down_y)
    return upfirdn2d(x, f, 1, down, grown, flip_filter, gain, implementation=implementation)


def grow_for_up(padding: int | Sequence[int], f: Tensor | None, up_x: int, up_y: int) -> tuple[int, ...]:
    """Add to `padding` what makes an upsampled image exactly `up` times as large, centered."""
    taps_x, taps_y = filter_taps(f)
    return parse_padding(padding).grow(
        (taps_x + up_x - 1) // 2, (taps_x - up_x) // 2, (taps_y + up_y - 1) // 2, (taps_y - up_y) // 2
    )


def grow_for_down(
    padding: int | Sequence[int], f: Tensor | None, down_x: int, down_y: int
) -> tuple[int, ...]:
    """Add to `padding` what makes a downsampled image exactly 1 / `down` as large, centered."""
    taps_x, taps_y = filter_taps(f)
    return parse_padding(padding).grow(
        (taps_x - down_x + 1) // 2,
        (taps_x - down_x) // 2,
        (taps_y - down_y + 1) // 2,
        (taps_y - down_y) // 2,
    )


def check_call(x: Tensor, f: Tensor | None, options: Upfirdn2dOptions) -> None:
    """Raise UsageError unless `x` is a floating-point image batch that `f` fits."""
    if x.ndim != 4 or not x.dtype.is_floating_point:
        raise UsageError(
            f"x is a floating-point tensor [N, C, H, W], found {x.dtype} with {x.ndim} dimensions"
        )
    check_filter(f)
    if not torch.compiler.is_compiling():
        taps_x, taps_y = filter_taps(f)
        options.check_size(x.shape[2], x.shape[3], taps_y=taps_y, taps_x=taps_x)
