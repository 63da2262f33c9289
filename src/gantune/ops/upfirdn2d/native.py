"""upfirdn2d in C++: planes along their rows, or tiles of channels where channels come last.

The operation is linear, and its gradient is itself with other factors: derivatives of every order are native.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from gantune.ops.choose import Form
from gantune.ops.native.derivatives import Context
from gantune.ops.native.library import missing_reason, run_filter
from gantune.ops.native.operators import native_operator
from gantune.ops.native.qualification import refuse
from gantune.ops.native.structures import (
    Activation,
    FilterRequest,
    Pair,
    as_floats,
    describe_filter,
    describe_image,
    empty_result,
)
from gantune.ops.resampling_filter import filter_taps
from gantune.ops.upfirdn2d.options import Upfirdn2dOptions


def upfirdn2d_native(x: Tensor, f: Tensor | None, options: Upfirdn2dOptions) -> Tensor:
    """Compute upfirdn2d in one pass over memory."""
    taps_x, taps_y = filter_taps(f)
    height, width = options.output_size(x.shape[2], x.shape[3], taps_y=taps_y, taps_x=taps_x)
    result: Tensor = torch.ops.gantune.upfirdn2d(
        x,
        f,
        [options.up_x, options.up_y],
        [options.down_x, options.down_y],
        [options.padding.x0, options.padding.y0],
        [height, width],
        options.gain,
        options.flip_filter,
    )
    return result


@native_operator("upfirdn2d")
def _upfirdn2d(
    x: Tensor,
    f: Tensor | None,
    up: Sequence[int],
    down: Sequence[int],
    padding: Sequence[int],
    size: Sequence[int],
    gain: float,
    flip_filter: bool,
) -> Tensor:
    y = empty_result(x, size[0], size[1])
    taps = as_floats(f)
    request = FilterRequest(
        x=describe_image(x),
        y=describe_image(y),
        up_filter=describe_filter(taps),
        down_filter=describe_filter(None),
        up=Pair(*up),
        down=Pair(*down),
        padding=Pair(*padding),
        flip_filter=flip_filter,
        gain=gain,
        activation=Activation(1.0, float("inf"), 0),
    )
    run_filter(request, num_threads=torch.get_num_threads())
    return y


@_upfirdn2d.register_fake
def _(
    x: Tensor,
    f: Tensor | None,
    up: Sequence[int],
    down: Sequence[int],
    padding: Sequence[int],
    size: Sequence[int],
    gain: float,
    flip_filter: bool,
) -> Tensor:
    return empty_result(x, size[0], size[1])


_Call = tuple[list[int], list[int], list[int], list[int], float, bool]
_Inputs = tuple[
    Tensor, Tensor | None, Sequence[int], Sequence[int], Sequence[int], Sequence[int], float, bool
]


def _remember(ctx: Context[_Call], inputs: _Inputs, output: Tensor) -> None:
    x, f, up, down, padding, _, gain, flip_filter = inputs
    ctx.save_for_backward(f)
    ctx.call = (list(up), list(down), list(padding), list(x.shape[2:]), gain, flip_filter)


def _differentiate(ctx: Context[_Call], dy: Tensor) -> tuple[Tensor | None, ...]:
    (f,) = ctx.saved_tensors
    up, down, padding, size, gain, flip_filter = ctx.call
    turned = [taps - 1 - before for taps, before in zip(filter_taps(f), padding, strict=True)]
    dx = torch.ops.gantune.upfirdn2d(dy, f, down, up, turned, size, gain, not flip_filter)
    return dx, None, None, None, None, None, None, None


_upfirdn2d.register_autograd(_differentiate, setup_context=_remember)


def _refuse(x: Tensor, f: Tensor | None, options: Upfirdn2dOptions) -> str | None:
    return refuse(x, f)


FORM = Form(name="native", run=upfirdn2d_native, missing=missing_reason(), refusal=_refuse, devices=("cpu",))
