"""Filtering a tile along both axes by products with band matrices, which run on a GPU's matrix units.

A tile is two-dimensional: rows are (position along one axis, channel), channel fastest; columns are the
positions along the other axis.
"""

import triton
import triton.language as tl


@triton.jit
def floor_divide(a: tl.tensor, B: tl.constexpr) -> tl.tensor:
    """Divide rounding down; Triton's own division rounds toward zero. `a` is above −B·65536."""
    return (a + B * 65536) // B - 65536


@triton.jit
def band(
    f: tl.tensor, k: tl.tensor, TAPS: tl.constexpr, IS_FLIPPED: tl.constexpr, COMPUTE: tl.constexpr
) -> tl.tensor:
    """Load the matrix of weights that an output gives to the samples at window positions `k`."""
    index = k if IS_FLIPPED else TAPS - 1 - k
    return tl.load(f + index, mask=(k >= 0) & (k < TAPS), other=0.0).to(COMPUTE)


@triton.jit
def band_y(
    f: tl.tensor,
    term: tl.tensor,
    k: tl.tensor,
    TAPS_Y: tl.constexpr,
    IS_SEPARABLE: tl.constexpr,
    IS_FLIPPED: tl.constexpr,
    COMPUTE: tl.constexpr,
) -> tl.tensor:
    """Give a term's vertical band matrix: the filter, or of a 2-D filter the place of its row `term`."""
    if IS_SEPARABLE:
        return band(f, k, TAPS_Y, IS_FLIPPED, COMPUTE)
    index = k if IS_FLIPPED else TAPS_Y - 1 - k
    return tl.where(index == term, 1.0, 0.0).to(COMPUTE)


@triton.jit
def filter_tile(
    tile: tl.tensor,
    columns_to: tl.tensor,
    rows_to: tl.tensor,
    ROWS: tl.constexpr,
    CHANNELS: tl.constexpr,
    COLUMNS: tl.constexpr,
    PRECISION: tl.constexpr,
    COMPUTE: tl.constexpr,
) -> tl.tensor:
    """Apply one band matrix to the columns of `tile` and one to its rows, which thereby change places.

    tile [ROWS·CHANNELS, ·] × columns_to [·, COLUMNS], then rows_to [ROWS, ·] gives [COLUMNS·CHANNELS, ·].
    """
    half = tl.dot(tile, columns_to, input_precision=PRECISION, out_dtype=COMPUTE)
    half = tl.reshape(half, [ROWS, CHANNELS, COLUMNS])
    half = tl.reshape(tl.permute(half, [2, 1, 0]), [COLUMNS * CHANNELS, ROWS])
    return tl.dot(half, rows_to, input_precision=PRECISION, out_dtype=COMPUTE)


@triton.jit
def load_tile(
    pointers: tl.tensor,
    y: tl.tensor,
    x: tl.tensor,
    height: tl.int32,
    width: tl.int32,
    stride_y: tl.int32,
    stride_x: tl.int32,
    in_channels: tl.tensor,
    bias: tl.tensor,
    HAS_BIAS: tl.constexpr,
    COMPUTE: tl.constexpr,
) -> tl.tensor:
    """Load a tile with zeros outside the image, where no bias is added either."""
    inside = (y >= 0) & (y < height) & (x >= 0) & (x < width) & in_channels
    tile = tl.load(pointers + y * stride_y + x * stride_x, mask=inside, other=0.0).to(COMPUTE)
    if HAS_BIAS:
        tile = tl.where(inside, tile + bias, 0.0)
    return tile
