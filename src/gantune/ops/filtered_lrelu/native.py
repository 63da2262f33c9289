"""filtered_lrelu in C++, in one pass: the upsampled image never exists.

The backward pass keeps two bits of each upsampled value (negative, clamped), not the activation. With them
the operation is linear, and its gradient is the same pass with up and down exchanged: derivatives of every
order are native. `scale_in` and `scale_out` [N, C] multiply input and output in passing, for inference.
"""

from collections.abc import Sequence
from math import inf

import torch
from torch import Tensor

from gantune.ops.choose import Form
from gantune.ops.filtered_lrelu.options import FilteredLreluOptions
from gantune.ops.native import structures as c
from gantune.ops.native.derivatives import Context
from gantune.ops.native.library import missing_reason, run_filter
from gantune.ops.native.operators import native_operator
from gantune.ops.native.qualification import refuse
from gantune.ops.resampling_filter import filter_taps


def filtered_lrelu_native(
    x: Tensor,
    fu: Tensor | None,
    fd: Tensor | None,
    b: Tensor | None,
    options: FilteredLreluOptions,
    *,
    scale_in: Tensor | None = None,
    scale_out: Tensor | None = None,
) -> Tensor:
    """Compute filtered_lrelu in one pass; the scales [N, C] get no gradient."""
    is_recorded = torch.is_grad_enabled() and (x.requires_grad or (b is not None and b.requires_grad))
    taps_x, taps_y = filter_taps(fu)
    size_middle = options.up_options.output_size(x.shape[2], x.shape[3], taps_y=taps_y, taps_x=taps_x)
    taps_x, taps_y = filter_taps(fd)
    size = options.down_options.output_size(*size_middle, taps_y=taps_y, taps_x=taps_x)
    y, _ = torch.ops.gantune.filtered_lrelu(
        x,
        fu,
        fd,
        b,
        scale_in,
        scale_out,
        [options.up, options.down],
        [options.padding.x0, options.padding.y0],
        list(size_middle),
        list(size),
        options.gain * options.up * options.up,
        options.slope,
        inf if options.clamp is None else options.clamp,
        options.flip_filter,
        is_recorded,
    )
    result: Tensor = y
    return result


@native_operator("filtered_lrelu")
def _filtered_lrelu(
    x: Tensor,
    fu: Tensor | None,
    fd: Tensor | None,
    b: Tensor | None,
    scale_in: Tensor | None,
    scale_out: Tensor | None,
    factors: Sequence[int],
    padding: Sequence[int],
    size_middle: Sequence[int],
    size: Sequence[int],
    gain: float,
    slope: float,
    clamp: float,
    flip_filter: bool,
    keep_mask: bool,
) -> tuple[Tensor, Tensor]:
    y = c.empty_result(x, size[0], size[1])
    mask = _new_mask(x, size_middle, keep_mask=keep_mask)
    fu, fd, b, scale_in, scale_out = map(c.as_floats, (fu, fd, b, scale_in, scale_out))
    up, down = factors
    request = c.FilterRequest(
        x=c.describe_image(x),
        y=c.describe_image(y),
        bias=c.address(b),
        scale_in=c.address(scale_in),
        scale_out=c.address(scale_out),
        mask=c.address(mask),
        up_filter=c.describe_filter(fu),
        down_filter=c.describe_filter(fd),
        up=c.Pair(up, up),
        down=c.Pair(down, down),
        padding=c.Pair(*padding),
        size_middle=c.Pair(size_middle[1], size_middle[0]),
        mask_use=c.MASK_WRITE if keep_mask else c.MASK_NONE,
        flip_filter=flip_filter,
        gain=gain,
        activation=c.Activation(slope, clamp, 1),
    )
    run_filter(request, num_threads=torch.get_num_threads())
    return y, mask


def _new_mask(x: Tensor, size_middle: Sequence[int], *, keep_mask: bool) -> Tensor:
    # Zeros: where the last samples feed no output, nobody writes.
    shape = c.mask_shape(x, size_middle[0], size_middle[1]) if keep_mask else [0]
    return torch.zeros(shape, dtype=torch.uint8, device=x.device)


@_filtered_lrelu.register_fake
def _(
    x: Tensor,
    fu: Tensor | None,
    fd: Tensor | None,
    b: Tensor | None,
    scale_in: Tensor | None,
    scale_out: Tensor | None,
    factors: Sequence[int],
    padding: Sequence[int],
    size_middle: Sequence[int],
    size: Sequence[int],
    gain: float,
    slope: float,
    clamp: float,
    flip_filter: bool,
    keep_mask: bool,
) -> tuple[Tensor, Tensor]:
    return c.empty_result(x, size[0], size[1]), _new_mask(x, size_middle, keep_mask=keep_mask)


@native_operator("filtered_lrelu_linear")
def _linear(
    x: Tensor,
    mask: Tensor,
    fu: Tensor | None,
    fd: Tensor | None,
    factors: Sequence[int],
    padding: Sequence[int],
    mask_offset: Sequence[int],
    size: Sequence[int],
    gain: float,
    slope: float,
    flip_filter: bool,
) -> Tensor:
    y = c.empty_result(x, size[0], size[1])
    fu, fd = map(c.as_floats, (fu, fd))
    up, down = factors
    request = c.FilterRequest(
        x=c.describe_image(x),
        y=c.describe_image(y),
        mask=c.address(mask),
        up_filter=c.describe_filter(fu),
        down_filter=c.describe_filter(fd),
        up=c.Pair(up, up),
        down=c.Pair(down, down),
        padding=c.Pair(*padding),
        size_middle=c.Pair(mask.shape[3], mask.shape[2]),
        mask_offset=c.Pair(*mask_offset),
        mask_use=c.MASK_READ,
        flip_filter=flip_filter,
        gain=gain,
        activation=c.Activation(slope, inf, 0),
    )
    run_filter(request, num_threads=torch.get_num_threads())
    return y


@_linear.register_fake
def _(
    x: Tensor,
    mask: Tensor,
    fu: Tensor | None,
    fd: Tensor | None,
    factors: Sequence[int],
    padding: Sequence[int],
    mask_offset: Sequence[int],
    size: Sequence[int],
    gain: float,
    slope: float,
    flip_filter: bool,
) -> Tensor:
    return c.empty_result(x, size[0], size[1])


_Call = tuple[bool, list[int], list[int], list[int], list[int], float, float, bool]


def _remember(
    ctx: Context[_Call],
    inputs: tuple[
        Tensor,
        Tensor | None,
        Tensor | None,
        Tensor | None,
        Tensor | None,
        Tensor | None,
        Sequence[int],
        Sequence[int],
        Sequence[int],
        Sequence[int],
        float,
        float,
        float,
        bool,
        bool,
    ],
    output: tuple[Tensor, Tensor],
) -> None:
    x, fu, fd, b, _, _, factors, padding, _, _, gain, slope, _, flip_filter, _ = inputs
    ctx.save_for_backward(output[1], fu, fd)
    size = list(x.shape[2:])
    ctx.call = (b is not None, list(factors), list(padding), [0, 0], size, gain, slope, flip_filter)


def _remember_linear(
    ctx: Context[_Call],
    inputs: tuple[
        Tensor,
        Tensor,
        Tensor | None,
        Tensor | None,
        Sequence[int],
        Sequence[int],
        Sequence[int],
        Sequence[int],
        float,
        float,
        bool,
    ],
    output: Tensor,
) -> None:
    x, mask, fu, fd, factors, padding, mask_offset, _, gain, slope, flip_filter = inputs
    ctx.save_for_backward(mask, fu, fd)
    size = list(x.shape[2:])
    ctx.call = (False, list(factors), list(padding), list(mask_offset), size, gain, slope, flip_filter)


def _transpose(ctx: Context[_Call], dy: Tensor) -> Tensor:
    mask, fu, fd = ctx.saved_tensors
    _, factors, padding, mask_offset, size, gain, slope, flip_filter = ctx.call
    before = [taps - 1 - start for taps, start in zip(filter_taps(fu), padding, strict=True)]
    turned = [taps - 1 + start for taps, start in zip(filter_taps(fd), before, strict=True)]
    offset = [old - start for old, start in zip(mask_offset, before, strict=True)]
    dx: Tensor = torch.ops.gantune.filtered_lrelu_linear(
        dy, mask, fd, fu, factors[::-1], turned, offset, size, gain, slope, not flip_filter
    )
    return dx


def _differentiate(ctx: Context[_Call], dy: Tensor, dmask: Tensor | None) -> tuple[Tensor | None, ...]:
    dx = _transpose(ctx, dy)
    has_bias = ctx.call[0]
    db = dx.sum(dim=[0, 2, 3]) if has_bias else None
    return dx, None, None, db, *[None] * 11


def _differentiate_linear(ctx: Context[_Call], dy: Tensor) -> tuple[Tensor | None, ...]:
    return _transpose(ctx, dy), *[None] * 10


_filtered_lrelu.register_autograd(_differentiate, setup_context=_remember)
_linear.register_autograd(_differentiate_linear, setup_context=_remember_linear)


def _refuse(
    x: Tensor, fu: Tensor | None, fd: Tensor | None, b: Tensor | None, options: FilteredLreluOptions
) -> str | None:
    return refuse(x, fu, fd)


FORM = Form(
    name="native", run=filtered_lrelu_native, missing=missing_reason(), refusal=_refuse, devices=("cpu",)
)
