"""filtered_lrelu in one kernel, and its gradient: the upsampled image lives in a tile and never in memory.

The gradient computes the signs again from the input instead of reading stored ones: two more products a
tile, and no byte of memory kept for the backward pass.
"""

import triton
import triton.language as tl

from gantune.ops.triton.band_tiles import band, band_y, filter_tile, floor_divide, load_tile


@triton.jit
def upsample_tile(
    tile: tl.tensor,
    f: tl.tensor,
    k_y: tl.tensor,
    k_x: tl.tensor,
    UP: tl.constexpr,
    TAPS_Y: tl.constexpr,
    TAPS_X: tl.constexpr,
    IS_SEPARABLE: tl.constexpr,
    IS_FLIPPED: tl.constexpr,
    PRECISION: tl.constexpr,
    COMPUTE: tl.constexpr,
    BLOCK_C: tl.constexpr,
    IN: tl.constexpr,
    MIDDLE: tl.constexpr,
) -> tl.tensor:
    """Filter a tile with rows (y, channel) and columns x into MIDDLE², rows (x, channel), columns y."""
    total = tl.zeros([MIDDLE * BLOCK_C, MIDDLE], COMPUTE)
    for term in range(1 if IS_SEPARABLE else TAPS_Y):
        weights_x = band(f + term * TAPS_X, k_x, TAPS_X, IS_FLIPPED, COMPUTE)
        weights_y = band_y(f, term, k_y, TAPS_Y, IS_SEPARABLE, IS_FLIPPED, COMPUTE)
        total += filter_tile(tile, weights_x, weights_y, IN, BLOCK_C, MIDDLE, PRECISION, COMPUTE)
    return total * (UP * UP)


@triton.jit
def downsample_tile(
    tile: tl.tensor,
    f: tl.tensor,
    k_y: tl.tensor,
    k_x: tl.tensor,
    TAPS_Y: tl.constexpr,
    TAPS_X: tl.constexpr,
    IS_SEPARABLE: tl.constexpr,
    IS_FLIPPED: tl.constexpr,
    PRECISION: tl.constexpr,
    COMPUTE: tl.constexpr,
    BLOCK_C: tl.constexpr,
    MIDDLE: tl.constexpr,
    OUT: tl.constexpr,
) -> tl.tensor:
    """Filter a tile with rows (x, channel) and columns y into OUT², rows (y, channel), columns x."""
    total = tl.zeros([OUT * BLOCK_C, OUT], COMPUTE)
    for term in range(1 if IS_SEPARABLE else TAPS_Y):
        weights_x = band(f + term * TAPS_X, k_x, TAPS_X, IS_FLIPPED, COMPUTE)
        weights_y = band_y(f, term, k_y, TAPS_Y, IS_SEPARABLE, IS_FLIPPED, COMPUTE)
        total += filter_tile(tile, weights_y, weights_x, MIDDLE, BLOCK_C, OUT, PRECISION, COMPUTE)
    return total


@triton.jit
def slope_of(
    s: tl.tensor, GAIN: tl.constexpr, SLOPE: tl.constexpr, CLAMP: tl.constexpr, COMPUTE: tl.constexpr
) -> tl.tensor:
    """Give the derivative of clamp(GAIN · lrelu(s)), which is the factor on every tangent and gradient."""
    factor = tl.where(s > 0, 1.0, SLOPE).to(COMPUTE) * GAIN
    if CLAMP is not None:
        factor = tl.where(tl.abs(s * factor) <= CLAMP, factor, 0.0)
    return factor


@triton.jit
def filtered_lrelu_kernel(
    x: tl.tensor,
    tangent: tl.tensor,
    fu: tl.tensor,
    fd: tl.tensor,
    bias: tl.tensor,
    out: tl.tensor,
    units: tl.int32,
    blocks_c: tl.int32,
    channels: tl.int32,
    height: tl.int32,
    width: tl.int32,
    out_height: tl.int32,
    out_width: tl.int32,
    in_n: tl.int64,
    in_c: tl.int64,
    in_y: tl.int32,
    in_x: tl.int32,
    tangent_n: tl.int64,
    tangent_c: tl.int64,
    tangent_y: tl.int32,
    tangent_x: tl.int32,
    out_n: tl.int64,
    out_c: tl.int64,
    out_y: tl.int32,
    out_x: tl.int32,
    tiles_y: tl.int32,
    tiles_x: tl.int32,
    UP: tl.constexpr,
    DOWN: tl.constexpr,
    PAD_Y: tl.constexpr,
    PAD_X: tl.constexpr,
    GAIN: tl.constexpr,
    SLOPE: tl.constexpr,
    CLAMP: tl.constexpr,
    IS_FLIPPED: tl.constexpr,
    UP_TAPS_Y: tl.constexpr,
    UP_TAPS_X: tl.constexpr,
    UP_IS_SEPARABLE: tl.constexpr,
    DOWN_TAPS_Y: tl.constexpr,
    DOWN_TAPS_X: tl.constexpr,
    DOWN_IS_SEPARABLE: tl.constexpr,
    HAS_TANGENT: tl.constexpr,
    HAS_BIAS: tl.constexpr,
    PRECISION: tl.constexpr,
    COMPUTE: tl.constexpr,
    UNITS: tl.constexpr,
    BLOCK_C: tl.constexpr,
    IN: tl.constexpr,
    MIDDLE: tl.constexpr,
    OUT: tl.constexpr,
    USED: tl.constexpr,
) -> None:
    """Compute the USED × USED outputs of a tile (padded to OUT) for UNITS blocks of BLOCK_C channels.

    With HAS_TANGENT the result is the derivative at `x` in the direction `tangent`, which is linear in it.
    """
    program = tl.program_id(0)
    first_y = ((program // tiles_x) % tiles_y) * USED
    first_x = (program % tiles_x) * USED
    middle_y = first_y * DOWN + tl.arange(0, MIDDLE)
    middle_x = first_x * DOWN + tl.arange(0, MIDDLE)
    start_y = floor_divide(first_y * DOWN - PAD_Y, UP)
    start_x = floor_divide(first_x * DOWN - PAD_X, UP)
    source_x = start_x + tl.arange(0, IN)
    up_y = (start_y + tl.arange(0, IN))[:, None] * UP + PAD_Y - middle_y[None, :]
    up_x = source_x[:, None] * UP + PAD_X - middle_x[None, :]
    target = tl.arange(0, OUT)
    down_y = middle_y[:, None] - (first_y + target)[None, :] * DOWN
    down_x = middle_x[:, None] - (first_x + target)[None, :] * DOWN
    in_rows = tl.arange(0, IN * BLOCK_C)
    out_rows = tl.arange(0, OUT * BLOCK_C)
    tile_y = (start_y + in_rows // BLOCK_C)[:, None]
    target_y = (out_rows // BLOCK_C)[:, None]
    in_tile = (target_y < USED) & (target < USED)[None, :]
    in_tile = in_tile & (first_y + target_y < out_height) & (first_x + target < out_width)[None, :]
    for step in range(UNITS):
        unit = (program // tiles_x // tiles_y) * UNITS + step
        n = (unit // blocks_c).to(tl.int64)
        c = (unit % blocks_c) * BLOCK_C + (in_rows % BLOCK_C)[:, None]
        is_here = (c < channels) & (unit < units)
        shift = 0.0
        if HAS_BIAS:
            shift = tl.load(bias + c, mask=is_here, other=0.0).to(COMPUTE)
        tile = load_tile(
            x + n * in_n + c.to(tl.int64) * in_c, tile_y, source_x[None, :], height, width, in_y, in_x,
            is_here, shift, HAS_BIAS, COMPUTE,
        )  # fmt: skip
        s = upsample_tile(
            tile, fu, up_y, up_x, UP, UP_TAPS_Y, UP_TAPS_X, UP_IS_SEPARABLE, IS_FLIPPED,
            PRECISION, COMPUTE, BLOCK_C, IN, MIDDLE,
        )  # fmt: skip
        if HAS_TANGENT:
            tile = load_tile(
                tangent + n * tangent_n + c.to(tl.int64) * tangent_c, tile_y, source_x[None, :],
                height, width, tangent_y, tangent_x, is_here, 0.0, False, COMPUTE,
            )  # fmt: skip
            a = slope_of(s, GAIN, SLOPE, CLAMP, COMPUTE) * upsample_tile(
                tile, fu, up_y, up_x, UP, UP_TAPS_Y, UP_TAPS_X, UP_IS_SEPARABLE, IS_FLIPPED,
                PRECISION, COMPUTE, BLOCK_C, IN, MIDDLE,
            )  # fmt: skip
        else:
            a = tl.where(s > 0, s, s * SLOPE) * GAIN
            if CLAMP is not None:
                a = tl.where(a > CLAMP, CLAMP, tl.where(a < -CLAMP, -CLAMP, a))
        total = downsample_tile(
            a, fd, down_y, down_x, DOWN_TAPS_Y, DOWN_TAPS_X, DOWN_IS_SEPARABLE, IS_FLIPPED,
            PRECISION, COMPUTE, BLOCK_C, MIDDLE, OUT,
        )  # fmt: skip
        channel = (unit % blocks_c) * BLOCK_C + (out_rows % BLOCK_C)[:, None]
        place = (first_y + target_y) * out_y + (first_x + target)[None, :] * out_x
        mask = in_tile & (channel < channels) & (unit < units)
        pointers = out + n * out_n + channel.to(tl.int64) * out_c + place
        tl.store(pointers, total.to(out.dtype.element_ty), mask=mask)


@triton.jit
def filtered_lrelu_gradient_kernel(
    dy: tl.tensor,
    x: tl.tensor,
    fu: tl.tensor,
    fd: tl.tensor,
    bias: tl.tensor,
    out: tl.tensor,
    units: tl.int32,
    blocks_c: tl.int32,
    channels: tl.int32,
    height: tl.int32,
    width: tl.int32,
    dy_height: tl.int32,
    dy_width: tl.int32,
    in_n: tl.int64,
    in_c: tl.int64,
    in_y: tl.int32,
    in_x: tl.int32,
    dy_n: tl.int64,
    dy_c: tl.int64,
    dy_y: tl.int32,
    dy_x: tl.int32,
    out_n: tl.int64,
    out_c: tl.int64,
    out_y: tl.int32,
    out_x: tl.int32,
    tiles_y: tl.int32,
    tiles_x: tl.int32,
    UP: tl.constexpr,
    DOWN: tl.constexpr,
    PAD_Y: tl.constexpr,
    PAD_X: tl.constexpr,
    GAIN: tl.constexpr,
    SLOPE: tl.constexpr,
    CLAMP: tl.constexpr,
    IS_FLIPPED: tl.constexpr,
    UP_TAPS_Y: tl.constexpr,
    UP_TAPS_X: tl.constexpr,
    UP_IS_SEPARABLE: tl.constexpr,
    DOWN_TAPS_Y: tl.constexpr,
    DOWN_TAPS_X: tl.constexpr,
    DOWN_IS_SEPARABLE: tl.constexpr,
    HAS_BIAS: tl.constexpr,
    PRECISION: tl.constexpr,
    COMPUTE: tl.constexpr,
    UNITS: tl.constexpr,
    BLOCK_C: tl.constexpr,
    IN: tl.constexpr,
    MIDDLE: tl.constexpr,
    OUT: tl.constexpr,
    USED: tl.constexpr,
    DY: tl.constexpr,
) -> None:
    """Compute the gradient of USED × USED inputs (padded to OUT): both filters transposed around the slopes.

    Reads DY × DY of the incoming gradient and, for the slopes of MIDDLE × MIDDLE, IN × IN of the input.
    """
    program = tl.program_id(0)
    first_y = ((program // tiles_x) % tiles_y) * USED
    first_x = (program % tiles_x) * USED
    start_middle_y = first_y * UP + PAD_Y - (UP_TAPS_Y - 1)
    start_middle_x = first_x * UP + PAD_X - (UP_TAPS_X - 1)
    middle_y = start_middle_y + tl.arange(0, MIDDLE)
    middle_x = start_middle_x + tl.arange(0, MIDDLE)
    start_y = floor_divide(start_middle_y - PAD_Y, UP)
    start_x = floor_divide(start_middle_x - PAD_X, UP)
    start_dy_y = floor_divide(start_middle_y - (DOWN_TAPS_Y - 1), DOWN)
    start_dy_x = floor_divide(start_middle_x - (DOWN_TAPS_X - 1), DOWN)
    source_x = start_x + tl.arange(0, IN)
    dy_column = start_dy_x + tl.arange(0, DY)
    target = tl.arange(0, OUT)
    up_y = (start_y + tl.arange(0, IN))[:, None] * UP + PAD_Y - middle_y[None, :]
    up_x = source_x[:, None] * UP + PAD_X - middle_x[None, :]
    down_y = middle_y[None, :] - (start_dy_y + tl.arange(0, DY))[:, None] * DOWN
    down_x = middle_x[None, :] - dy_column[:, None] * DOWN
    back_y = (first_y + target)[None, :] * UP + PAD_Y - middle_y[:, None]
    back_x = (first_x + target)[None, :] * UP + PAD_X - middle_x[:, None]
    in_rows = tl.arange(0, IN * BLOCK_C)
    dy_rows = tl.arange(0, DY * BLOCK_C)
    out_rows = tl.arange(0, OUT * BLOCK_C)
    target_y = (out_rows // BLOCK_C)[:, None]
    in_tile = (target_y < USED) & (target < USED)[None, :]
    in_tile = in_tile & (first_y + target_y < height) & (first_x + target < width)[None, :]
    for step in range(UNITS):
        unit = (program // tiles_x // tiles_y) * UNITS + step
        n = (unit // blocks_c).to(tl.int64)
        first_c = (unit % blocks_c) * BLOCK_C
        c = first_c + (in_rows % BLOCK_C)[:, None]
        is_here = (c < channels) & (unit < units)
        shift = 0.0
        if HAS_BIAS:
            shift = tl.load(bias + c, mask=is_here, other=0.0).to(COMPUTE)
        tile = load_tile(
            x + n * in_n + c.to(tl.int64) * in_c, (start_y + in_rows // BLOCK_C)[:, None],
            source_x[None, :], height, width, in_y, in_x, is_here, shift, HAS_BIAS, COMPUTE,
        )  # fmt: skip
        s = upsample_tile(
            tile, fu, up_y, up_x, UP, UP_TAPS_Y, UP_TAPS_X, UP_IS_SEPARABLE, IS_FLIPPED,
            PRECISION, COMPUTE, BLOCK_C, IN, MIDDLE,
        )  # fmt: skip
        c = first_c + (dy_rows % BLOCK_C)[:, None]
        tile = load_tile(
            dy + n * dy_n + c.to(tl.int64) * dy_c, (start_dy_y + dy_rows // BLOCK_C)[:, None],
            dy_column[None, :], dy_height, dy_width, dy_y, dy_x,
            (c < channels) & (unit < units), 0.0, False, COMPUTE,
        )  # fmt: skip
        da = upsample_tile(
            tile, fd, down_y, down_x, 1, DOWN_TAPS_Y, DOWN_TAPS_X, DOWN_IS_SEPARABLE, IS_FLIPPED,
            PRECISION, COMPUTE, BLOCK_C, DY, MIDDLE,
        )  # fmt: skip
        ds = da * slope_of(s, GAIN, SLOPE, CLAMP, COMPUTE) * (UP * UP)
        total = downsample_tile(
            ds, fu, back_y, back_x, UP_TAPS_Y, UP_TAPS_X, UP_IS_SEPARABLE, IS_FLIPPED,
            PRECISION, COMPUTE, BLOCK_C, MIDDLE, OUT,
        )  # fmt: skip
        channel = first_c + (out_rows % BLOCK_C)[:, None]
        place = (first_y + target_y) * out_y + (first_x + target)[None, :] * out_x
        mask = in_tile & (channel < channels) & (unit < units)
        pointers = out + n * out_n + channel.to(tl.int64) * out_c + place
        tl.store(pointers, total.to(out.dtype.element_ty), mask=mask)
