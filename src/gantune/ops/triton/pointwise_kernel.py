"""Scale, noise, bias, activation, gain and clamp in one pass, and the first two derivatives of that."""

import triton
import triton.language as tl


@triton.jit
def sigmoid(z: tl.tensor) -> tl.tensor:
    """Compute 1 / (1 + e⁻ᶻ) without overflow."""
    small = tl.exp(-tl.abs(z))
    return tl.where(z >= 0, 1.0, small) / (1.0 + small)


@triton.jit
def activate(z: tl.tensor, ACT: tl.constexpr, ALPHA: tl.constexpr) -> tl.tensor:
    """Compute the activation ACT of `z`; only lrelu reads ALPHA."""
    result = z
    if ACT == "relu":
        result = tl.where(z <= 0, 0.0, z)
    if ACT == "lrelu":
        result = tl.where(z > 0, z, z * ALPHA)
    if ACT == "tanh":
        small = tl.exp(-2.0 * tl.abs(z))
        magnitude = (1.0 - small) / (1.0 + small)
        result = tl.where(z >= 0, magnitude, -magnitude)
    if ACT == "sigmoid":
        result = sigmoid(z)
    if ACT == "elu":
        result = tl.where(z > 0, z, tl.exp(tl.minimum(z, 0.0)) - 1.0)
    if ACT == "selu":
        negative = 1.6732632423543772848170429916717 * (tl.exp(tl.minimum(z, 0.0)) - 1.0)
        result = 1.0507009873554804934193349852946 * tl.where(z > 0, z, negative)
    if ACT == "softplus":
        # torch's own softplus is the identity from 20 on.
        result = tl.where(z > 20.0, z, tl.maximum(z, 0.0) + tl.log(1.0 + tl.exp(-tl.abs(z))))
    if ACT == "swish":
        result = z * sigmoid(z)
    return result


@triton.jit
def first_derivative(z: tl.tensor, ACT: tl.constexpr, ALPHA: tl.constexpr) -> tl.tensor:
    """Compute the derivative of the activation at `z`; at a kink it is the left one, as in torch."""
    result = z * 0.0 + 1.0
    if ACT == "relu":
        result = tl.where(z > 0, 1.0, z * 0.0)
    if ACT == "lrelu":
        result = tl.where(z > 0, 1.0, z * 0.0 + ALPHA)
    if ACT == "tanh":
        value = activate(z, "tanh", ALPHA)
        result = 1.0 - value * value
    if ACT == "sigmoid":
        value = sigmoid(z)
        result = value * (1.0 - value)
    if ACT == "elu":
        result = tl.where(z > 0, 1.0, tl.exp(tl.minimum(z, 0.0)))
    if ACT == "selu":
        negative = 1.6732632423543772848170429916717 * tl.exp(tl.minimum(z, 0.0))
        result = 1.0507009873554804934193349852946 * tl.where(z > 0, 1.0, negative)
    if ACT == "softplus":
        result = tl.where(z > 20.0, 1.0, sigmoid(z))
    if ACT == "swish":
        value = sigmoid(z)
        result = value * (1.0 + z * (1.0 - value))
    return result


@triton.jit
def second_derivative(z: tl.tensor, ACT: tl.constexpr, ALPHA: tl.constexpr) -> tl.tensor:
    """Compute the second derivative of the activation at `z`; zero at and beside a kink of straight parts."""
    result = z * 0.0
    if ACT == "tanh":
        value = activate(z, "tanh", ALPHA)
        result = -2.0 * value * (1.0 - value * value)
    if ACT == "sigmoid":
        value = sigmoid(z)
        result = value * (1.0 - value) * (1.0 - 2.0 * value)
    if ACT == "elu":
        result = tl.where(z > 0, 0.0, tl.exp(tl.minimum(z, 0.0)))
    if ACT == "selu":
        # The product of the two constants: the interpreter would hold a named one in float32.
        result = tl.where(z > 0, 0.0, 1.7580993408473766 * tl.exp(tl.minimum(z, 0.0)))
    if ACT == "softplus":
        value = sigmoid(z)
        result = tl.where(z > 20.0, 0.0, value * (1.0 - value))
    if ACT == "swish":
        value = sigmoid(z)
        result = value * (1.0 - value) * (2.0 + z * (1.0 - 2.0 * value))
    return result


@triton.jit
def pointwise_kernel(
    x: tl.tensor,
    first: tl.tensor,
    second: tl.tensor,
    scale: tl.tensor,
    noise: tl.tensor,
    bias: tl.tensor,
    out: tl.tensor,
    rows: tl.int32,
    columns: tl.int32,
    channels: tl.int32,
    pixels: tl.int32,
    noise_sample: tl.int32,
    ACT: tl.constexpr,
    ALPHA: tl.constexpr,
    GAIN: tl.constexpr,
    CLAMP: tl.constexpr,
    ORDER: tl.constexpr,
    HAS_SCALE: tl.constexpr,
    HAS_NOISE: tl.constexpr,
    HAS_BIAS: tl.constexpr,
    CHANNELS_ALONG_COLUMNS: tl.constexpr,
    COMPUTE: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_COLUMNS: tl.constexpr,
) -> None:
    """Write φ(z), first · φ′(z) or first · second · φ″(z), by ORDER.

    Here z = scale · x + noise + bias and φ(z) = clamp(GAIN · ACT(z), −CLAMP, CLAMP).
    Memory is `rows` × `columns`. Channels either are the columns (channels-last) or change with the rows
    (planes). `scale` is [N, channels], `noise` one plane for each `noise_sample` elements (0: one plane).
    """
    tiles = tl.cdiv(columns, BLOCK_COLUMNS)
    row = (tl.program_id(0) // tiles) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)[:, None]
    column = (tl.program_id(0) % tiles) * BLOCK_COLUMNS + tl.arange(0, BLOCK_COLUMNS)[None, :]
    mask = (row < rows) & (column < columns)
    offset = row.to(tl.int64) * columns + column
    z = tl.load(x + offset, mask=mask, other=0.0).to(COMPUTE)
    if CHANNELS_ALONG_COLUMNS:
        channel, in_channel = column, column < columns
        sample, pixel, in_pixel = row // pixels, row % pixels, row < rows
    else:
        channel, in_channel = row % channels, row < rows
        sample, pixel, in_pixel = row // channels, column, mask
    if HAS_SCALE:
        z *= tl.load(scale + sample * channels + channel, mask=mask, other=0.0).to(COMPUTE)
    if HAS_NOISE:
        z += tl.load(noise + sample.to(tl.int64) * noise_sample + pixel, mask=in_pixel, other=0.0).to(COMPUTE)
    if HAS_BIAS:
        z += tl.load(bias + channel, mask=in_channel, other=0.0).to(COMPUTE)
    y = activate(z, ACT, ALPHA) * GAIN
    if ORDER == 0:
        if CLAMP is not None:
            y = tl.where(y > CLAMP, CLAMP, tl.where(y < -CLAMP, -CLAMP, y))
    else:
        result = tl.load(first + offset, mask=mask, other=0.0).to(COMPUTE) * GAIN
        if ORDER == 1:
            result *= first_derivative(z, ACT, ALPHA)
        else:
            result *= second_derivative(z, ACT, ALPHA)
            result *= tl.load(second + offset, mask=mask, other=0.0).to(COMPUTE)
        if CLAMP is not None:
            result = tl.where(tl.abs(y) <= CLAMP, result, 0.0)
        y = result
    tl.store(out + offset, y.to(out.dtype.element_ty), mask=mask)
