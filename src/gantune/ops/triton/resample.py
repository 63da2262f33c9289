"""upfirdn2d as an operator on a device: picks kernel and tiles; its gradient is itself, transposed."""

from collections.abc import Sequence
from math import gcd
from typing import Protocol

import torch
from torch import Tensor

from gantune.ops.resampling_filter import SEPARABLE_FROM_TAPS, filter_taps
from gantune.ops.triton.device_facts import find_facts
from gantune.ops.triton.launch_plans import MOST_UNROLLED_TAPS, divide_up, plan_band, plan_direct
from gantune.ops.triton.launching import (
    compute_dtype,
    is_channels_last,
    load_kernel,
    new_image,
    on_device,
    product_precision,
)


@torch.library.custom_op("gantune::triton_upfirdn2d", mutates_args=())
def resample(
    x: Tensor,
    f: Tensor,
    up: Sequence[int],
    down: Sequence[int],
    padding: Sequence[int],
    is_flipped: bool,
    gain: float,
) -> Tensor:
    """Compute upfirdn2d of `x` [N, C, H, W] with `f` [taps] or [taps_y, taps_x].

    `up` and `down` are [x, y], `padding` is [x0, x1, y0, y1]; computed in float32 (float64 in itself).
    """
    f = f.contiguous()
    height, width = output_size(x, f, up, down, padding)
    out = new_image(x, height, width)
    if out.numel() == 0:
        return out
    is_long = f.ndim == 1 and f.shape[0] >= SEPARABLE_FROM_TAPS
    run = _run_band if is_long else _run_direct
    with on_device(x):
        run(x, f, out, up, down, padding, is_flipped, gain)
    return out


def output_size(
    x: Tensor, f: Tensor, up: Sequence[int], down: Sequence[int], padding: Sequence[int]
) -> tuple[int, int]:
    """Return the height and width of the result."""
    taps_x, taps_y = filter_taps(f)
    full_x = x.shape[3] * up[0] + padding[0] + padding[1] - taps_x
    full_y = x.shape[2] * up[1] + padding[2] + padding[3] - taps_y
    return full_y // down[1] + 1, full_x // down[0] + 1


@resample.register_fake
def _fake(
    x: Tensor,
    f: Tensor,
    up: Sequence[int],
    down: Sequence[int],
    padding: Sequence[int],
    is_flipped: bool,
    gain: float,
) -> Tensor:
    return new_image(x, *output_size(x, f, up, down, padding))


class _Context(Protocol):
    saved_tensors: tuple[Tensor, ...]
    call: tuple[tuple[int, int], Sequence[int], Sequence[int], Sequence[int], bool, float]

    def save_for_backward(self, *tensors: Tensor) -> None: ...


def _remember(
    ctx: _Context,
    inputs: tuple[Tensor, Tensor, Sequence[int], Sequence[int], Sequence[int], bool, float],
    output: Tensor,
) -> None:
    x, f, up, down, padding, is_flipped, gain = inputs
    ctx.save_for_backward(f)
    ctx.call = ((x.shape[2], x.shape[3]), up, down, padding, is_flipped, gain)


def _transpose(ctx: _Context, dy: Tensor) -> tuple[Tensor | None, ...]:
    [f] = ctx.saved_tensors
    (height, width), up, down, padding, is_flipped, gain = ctx.call
    taps_x, taps_y = filter_taps(f)
    first_x, first_y = taps_x - 1 - padding[0], taps_y - 1 - padding[2]
    transposed = [
        first_x,
        width * up[0] - dy.shape[3] * down[0] + padding[0] - up[0] + 1,
        first_y,
        height * up[1] - dy.shape[2] * down[1] + padding[2] - up[1] + 1,
    ]
    dx = resample(dy, f, list(down), list(up), transposed, not is_flipped, gain)
    return dx, None, None, None, None, None, None


resample.register_autograd(_transpose, setup_context=_remember)


def _run_direct(
    x: Tensor,
    f: Tensor,
    out: Tensor,
    up: Sequence[int],
    down: Sequence[int],
    padding: Sequence[int],
    is_flipped: bool,
    gain: float,
) -> None:
    taps_x, taps_y = filter_taps(f)
    phases = [u // gcd(u, d) for u, d in zip(up, down, strict=True)]
    steps = [d // gcd(u, d) for u, d in zip(up, down, strict=True)]
    N, C, height, width = out.shape
    groups = (N, C, divide_up(height, phases[1]), divide_up(width, phases[0]))
    is_last = is_channels_last(out)
    plan = plan_direct(groups, find_facts(x.device), is_channels_last=is_last)
    met = phases[0] * phases[1] * divide_up(taps_x, up[0]) * divide_up(taps_y, up[1])
    load_kernel("direct_kernel", "direct_kernel")[(N * plan.tiles[0] * plan.tiles[1] * plan.tiles[2],)](
        x, f, out, *x.shape[1:], height, width, *x.stride(), *out.stride(), *plan.tiles,
        UP_Y=up[1], UP_X=up[0], DOWN_Y=down[1], DOWN_X=down[0], PAD_Y=padding[2], PAD_X=padding[0],
        TAPS_Y=taps_y, TAPS_X=taps_x, PHASES_Y=phases[1], PHASES_X=phases[0],
        STEP_Y=steps[1], STEP_X=steps[0],
        GAIN=gain, IS_SEPARABLE=f.ndim == 1, IS_FLIPPED=is_flipped, IS_UNROLLED=met <= MOST_UNROLLED_TAPS,
        JOINS_COLUMNS=phases[0] == 2 and not is_last, COMPUTE=compute_dtype(x),
        BLOCK_C=plan.block_c, BLOCK_Y=plan.block_y, BLOCK_X=plan.block_x, num_warps=plan.num_warps,
    )  # fmt: skip


def _run_band(
    x: Tensor,
    f: Tensor,
    out: Tensor,
    up: Sequence[int],
    down: Sequence[int],
    padding: Sequence[int],
    is_flipped: bool,
    gain: float,
) -> None:
    taps_x, taps_y = filter_taps(f)
    N, C, height, width = out.shape
    plan = plan_band(
        (N, C, height, width),
        ((up[1], down[1], taps_y), (up[0], down[0], taps_x)),
        find_facts(x.device),
        terms=1 if f.ndim == 1 else taps_y,
        element_bytes=max(4, x.dtype.itemsize),
        is_channels_last=is_channels_last(x),
    )
    blocks_c = divide_up(C, plan.block_c)
    load_kernel("band_kernel", "band_kernel")[(plan.num_programs,)](
        x, f, out, N * blocks_c, blocks_c, *x.shape[1:], height, width,
        *x.stride(), *out.stride(), *plan.tiles,
        UP_Y=up[1], UP_X=up[0], DOWN_Y=down[1], DOWN_X=down[0], PAD_Y=padding[2], PAD_X=padding[0],
        TAPS_Y=taps_y, TAPS_X=taps_x, GAIN=gain, IS_SEPARABLE=f.ndim == 1, IS_FLIPPED=is_flipped,
        PRECISION=product_precision(x), COMPUTE=compute_dtype(x), UNITS=plan.units, BLOCK_C=plan.block_c,
        IN_Y=plan.in_size[0], IN_X=plan.in_size[1], OUT_Y=plan.out_size[0], OUT_X=plan.out_size[1],
        num_warps=plan.num_warps,
    )  # fmt: skip
