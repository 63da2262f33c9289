"""upfirdn2d by direct summation: each output phase meets fixed taps, so no zero is ever multiplied."""

import triton
import triton.language as tl


@triton.jit
def tap_weight(
    f: tl.tensor,
    tap_y: tl.tensor,
    tap_x: tl.tensor,
    TAPS_Y: tl.constexpr,
    TAPS_X: tl.constexpr,
    IS_SEPARABLE: tl.constexpr,
    IS_FLIPPED: tl.constexpr,
    COMPUTE: tl.constexpr,
) -> tl.tensor:
    """Load the weight that a correlation gives to the sample at (tap_y, tap_x) of its window."""
    index_y = tap_y if IS_FLIPPED else TAPS_Y - 1 - tap_y
    index_x = tap_x if IS_FLIPPED else TAPS_X - 1 - tap_x
    if IS_SEPARABLE:
        return tl.load(f + index_y).to(COMPUTE) * tl.load(f + index_x).to(COMPUTE)
    return tl.load(f + index_y * TAPS_X + index_x).to(COMPUTE)


@triton.jit
def accumulate(
    pointers: tl.tensor,
    f: tl.tensor,
    in_channels: tl.tensor,
    y: tl.tensor,
    x: tl.tensor,
    height: tl.int32,
    width: tl.int32,
    stride_y: tl.int32,
    stride_x: tl.int32,
    FIRST_Y: tl.constexpr,
    FIRST_X: tl.constexpr,
    UP_Y: tl.constexpr,
    UP_X: tl.constexpr,
    TAPS_Y: tl.constexpr,
    TAPS_X: tl.constexpr,
    IS_SEPARABLE: tl.constexpr,
    IS_FLIPPED: tl.constexpr,
    IS_UNROLLED: tl.constexpr,
    COMPUTE: tl.constexpr,
    BLOCK_C: tl.constexpr,
    BLOCK_P: tl.constexpr,
) -> tl.tensor:
    """Sum the taps of one phase; FIRST is where its window starts on the upsampled, unpadded image."""
    # The first tap that falls on a sample, that sample, and how many taps do.
    TAP_Y: tl.constexpr = (-FIRST_Y) % UP_Y
    TAP_X: tl.constexpr = (-FIRST_X) % UP_X
    START_Y: tl.constexpr = (FIRST_Y + (-FIRST_Y) % UP_Y) // UP_Y
    START_X: tl.constexpr = (FIRST_X + (-FIRST_X) % UP_X) // UP_X
    MET_Y: tl.constexpr = (TAPS_Y - (-FIRST_Y) % UP_Y + UP_Y - 1) // UP_Y
    MET_X: tl.constexpr = (TAPS_X - (-FIRST_X) % UP_X + UP_X - 1) // UP_X
    total = tl.zeros([BLOCK_C, BLOCK_P], COMPUTE)
    if IS_UNROLLED:
        for j in tl.static_range(MET_Y):
            for i in tl.static_range(MET_X):
                row = y + (START_Y + j)
                column = x + (START_X + i)
                mask = (row >= 0) & (row < height) & (column >= 0) & (column < width) & in_channels
                weight = tap_weight(
                    f, TAP_Y + UP_Y * j, TAP_X + UP_X * i, TAPS_Y, TAPS_X, IS_SEPARABLE, IS_FLIPPED, COMPUTE
                )
                sample = tl.load(pointers + row * stride_y + column * stride_x, mask=mask, other=0.0)
                total += weight * sample.to(COMPUTE)
    else:
        for j in range(MET_Y):
            for i in range(MET_X):
                row = y + (START_Y + j)
                column = x + (START_X + i)
                mask = (row >= 0) & (row < height) & (column >= 0) & (column < width) & in_channels
                weight = tap_weight(
                    f, TAP_Y + UP_Y * j, TAP_X + UP_X * i, TAPS_Y, TAPS_X, IS_SEPARABLE, IS_FLIPPED, COMPUTE
                )
                sample = tl.load(pointers + row * stride_y + column * stride_x, mask=mask, other=0.0)
                total += weight * sample.to(COMPUTE)
    return total


@triton.jit
def direct_kernel(
    x: tl.tensor,
    f: tl.tensor,
    out: tl.tensor,
    channels: tl.int32,
    height: tl.int32,
    width: tl.int32,
    out_height: tl.int32,
    out_width: tl.int32,
    in_n: tl.int64,
    in_c: tl.int64,
    in_y: tl.int32,
    in_x: tl.int32,
    out_n: tl.int64,
    out_c: tl.int64,
    out_y: tl.int32,
    out_x: tl.int32,
    tiles_c: tl.int32,
    tiles_y: tl.int32,
    tiles_x: tl.int32,
    UP_Y: tl.constexpr,
    UP_X: tl.constexpr,
    DOWN_Y: tl.constexpr,
    DOWN_X: tl.constexpr,
    PAD_Y: tl.constexpr,
    PAD_X: tl.constexpr,
    TAPS_Y: tl.constexpr,
    TAPS_X: tl.constexpr,
    PHASES_Y: tl.constexpr,
    PHASES_X: tl.constexpr,
    STEP_Y: tl.constexpr,
    STEP_X: tl.constexpr,
    GAIN: tl.constexpr,
    IS_SEPARABLE: tl.constexpr,
    IS_FLIPPED: tl.constexpr,
    IS_UNROLLED: tl.constexpr,
    JOINS_COLUMNS: tl.constexpr,
    COMPUTE: tl.constexpr,
    BLOCK_C: tl.constexpr,
    BLOCK_Y: tl.constexpr,
    BLOCK_X: tl.constexpr,
) -> None:
    """Compute BLOCK_Y × BLOCK_X groups of PHASES_Y × PHASES_X neighboring outputs in BLOCK_C channels.

    The outputs of one phase lie PHASES = up / gcd(up, down) apart and STEP = down / gcd(up, down) samples of
    the input. With JOINS_COLUMNS (two phases) both neighbors are written by one contiguous store.
    """
    program = tl.program_id(0)
    tile_c = program % tiles_c
    tile_x = (program // tiles_c) % tiles_x
    tile_y = (program // tiles_c // tiles_x) % tiles_y
    n = (program // tiles_c // tiles_x // tiles_y).to(tl.int64)
    BLOCK_P: tl.constexpr = BLOCK_Y * BLOCK_X
    c = tile_c * BLOCK_C + tl.arange(0, BLOCK_C)[:, None]
    p = tl.arange(0, BLOCK_P)[None, :]
    group_y = tile_y * BLOCK_Y + p // BLOCK_X
    group_x = tile_x * BLOCK_X + p % BLOCK_X
    in_channels = c < channels
    source = x + n * in_n + c.to(tl.int64) * in_c
    target = out + n * out_n + c.to(tl.int64) * out_c
    for j in tl.static_range(PHASES_Y):
        y = group_y * PHASES_Y + j
        if JOINS_COLUMNS:
            even = accumulate(
                source, f, in_channels, group_y * STEP_Y, group_x * STEP_X, height, width, in_y, in_x,
                j * DOWN_Y - PAD_Y, -PAD_X, UP_Y, UP_X, TAPS_Y, TAPS_X,
                IS_SEPARABLE, IS_FLIPPED, IS_UNROLLED, COMPUTE, BLOCK_C, BLOCK_P,
            )  # fmt: skip
            odd = accumulate(
                source, f, in_channels, group_y * STEP_Y, group_x * STEP_X, height, width, in_y, in_x,
                j * DOWN_Y - PAD_Y, DOWN_X - PAD_X, UP_Y, UP_X, TAPS_Y, TAPS_X,
                IS_SEPARABLE, IS_FLIPPED, IS_UNROLLED, COMPUTE, BLOCK_C, BLOCK_P,
            )  # fmt: skip
            both = tl.interleave(even, odd) * GAIN
            q = tl.arange(0, 2 * BLOCK_P)[None, :]
            wide_y = (tile_y * BLOCK_Y + q // (2 * BLOCK_X)) * PHASES_Y + j
            wide_x = tile_x * (2 * BLOCK_X) + q % (2 * BLOCK_X)
            mask = (wide_y < out_height) & (wide_x < out_width) & in_channels
            tl.store(target + wide_y * out_y + wide_x * out_x, both.to(out.dtype.element_ty), mask=mask)
        else:
            for i in tl.static_range(PHASES_X):
                total = accumulate(
                    source, f, in_channels, group_y * STEP_Y, group_x * STEP_X, height, width, in_y, in_x,
                    j * DOWN_Y - PAD_Y, i * DOWN_X - PAD_X, UP_Y, UP_X, TAPS_Y, TAPS_X,
                    IS_SEPARABLE, IS_FLIPPED, IS_UNROLLED, COMPUTE, BLOCK_C, BLOCK_P,
                )  # fmt: skip
                column = group_x * PHASES_X + i
                mask = (y < out_height) & (column < out_width) & in_channels
                value = (total * GAIN).to(out.dtype.element_ty)
                tl.store(target + y * out_y + column * out_x, value, mask=mask)
