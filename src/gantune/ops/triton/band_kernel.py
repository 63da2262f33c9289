"""upfirdn2d with long filters: both axes of a tile in one kernel, by band matrices."""

import triton
import triton.language as tl

from gantune.ops.triton.band_tiles import band, band_y, filter_tile, floor_divide, load_tile


@triton.jit
def band_kernel(
    x: tl.tensor,
    f: tl.tensor,
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
    out_n: tl.int64,
    out_c: tl.int64,
    out_y: tl.int32,
    out_x: tl.int32,
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
    GAIN: tl.constexpr,
    IS_SEPARABLE: tl.constexpr,
    IS_FLIPPED: tl.constexpr,
    PRECISION: tl.constexpr,
    COMPUTE: tl.constexpr,
    UNITS: tl.constexpr,
    BLOCK_C: tl.constexpr,
    IN_Y: tl.constexpr,
    IN_X: tl.constexpr,
    OUT_Y: tl.constexpr,
    OUT_X: tl.constexpr,
) -> None:
    """Compute an OUT_Y × OUT_X tile of outputs for UNITS blocks of BLOCK_C channels, one after the other.

    The tile reads IN_Y × IN_X samples. A 2-D filter is a sum of TAPS_Y terms, one for each of its rows.
    """
    program = tl.program_id(0)
    first_y = ((program // tiles_x) % tiles_y) * OUT_Y
    first_x = (program % tiles_x) * OUT_X
    start_y = floor_divide(first_y * DOWN_Y - PAD_Y, UP_Y)
    start_x = floor_divide(first_x * DOWN_X - PAD_X, UP_X)
    source_y = start_y + tl.arange(0, IN_Y)
    source_x = start_x + tl.arange(0, IN_X)
    k_y = source_y[:, None] * UP_Y + PAD_Y - (first_y + tl.arange(0, OUT_Y))[None, :] * DOWN_Y
    k_x = source_x[:, None] * UP_X + PAD_X - (first_x + tl.arange(0, OUT_X))[None, :] * DOWN_X
    in_rows = tl.arange(0, IN_Y * BLOCK_C)
    out_rows = tl.arange(0, OUT_X * BLOCK_C)
    tile_y = (start_y + in_rows // BLOCK_C)[:, None]
    target_x = (first_x + out_rows // BLOCK_C)[:, None]
    target_y = (first_y + tl.arange(0, OUT_Y))[None, :]
    TERMS: tl.constexpr = 1 if IS_SEPARABLE else TAPS_Y
    for step in range(UNITS):
        unit = (program // tiles_x // tiles_y) * UNITS + step
        n = (unit // blocks_c).to(tl.int64)
        c = (unit % blocks_c) * BLOCK_C + (in_rows % BLOCK_C)[:, None]
        source = x + n * in_n + c.to(tl.int64) * in_c
        tile = load_tile(
            source, tile_y, source_x[None, :], height, width, in_y, in_x,
            (c < channels) & (unit < units), 0.0, False, COMPUTE,
        )  # fmt: skip
        total = tl.zeros([OUT_X * BLOCK_C, OUT_Y], COMPUTE)
        for term in range(TERMS):
            weights_x = band(f + term * TAPS_X, k_x, TAPS_X, IS_FLIPPED, COMPUTE)
            weights_y = band_y(f, term, k_y, TAPS_Y, IS_SEPARABLE, IS_FLIPPED, COMPUTE)
            total += filter_tile(tile, weights_x, weights_y, IN_Y, BLOCK_C, OUT_X, PRECISION, COMPUTE)
        channel = (unit % blocks_c) * BLOCK_C + (out_rows % BLOCK_C)[:, None]
        target = out + n * out_n + channel.to(tl.int64) * out_c + target_y * out_y + target_x * out_x
        mask = (target_y < out_height) & (target_x < out_width) & (channel < channels) & (unit < units)
        tl.store(target, (total * GAIN).to(out.dtype.element_ty), mask=mask)
