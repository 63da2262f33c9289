"""What modulated_conv2d costs at least: the convolution, its resampling filter, and three scalings."""

from gantune.errors import UnsupportedError
from gantune.ops.modulated_conv2d.options import ModulatedConv2dOptions
from gantune.ops.operation_cost import OperationCost
from gantune.ops.upfirdn2d.cost import plane_flops
from gantune.ops.upfirdn2d.options import Upfirdn2dOptions


def modulated_conv2d_cost(
    x_shape: tuple[int, int, int, int],
    weight_shape: tuple[int, int, int, int],
    f_shape: tuple[int, ...] | None,
    options: ModulatedConv2dOptions,
    *,
    has_noise: bool,
    element_bytes: int = 4,
) -> OperationCost:
    """Return the cost for an input of `x_shape` (N, C, H, W) and a weight (K, C, kh, kw).

    Upsampling is counted as a strided transposed convolution and a filter, as all forms compute it. Raises
    UnsupportedError for up and down in one call.
    """
    N, C, H, W = x_shape
    K, _, kh, kw = weight_shape
    convolution = options.convolution
    up, down = convolution.up, convolution.down
    if up > 1 and down > 1:
        raise UnsupportedError(f"no cost for a convolution that goes up ({up}) and down ({down}) at once")
    out_H, out_W = _output_size(x_shape, weight_shape, options)
    positions = H * W if up > 1 else out_H * out_W
    per_sample = (
        2 * K * C * kh * kw * positions
        + _filter_flops(x_shape, weight_shape, f_shape, options, (out_H, out_W))
        + C * H * W  # styles
        + K * out_H * out_W * (options.demodulate + has_noise)
    )
    energy = (2 * K * C * kh * kw + 2 * N * K * C) if options.demodulate else 0
    elements = N * (C * H * W + K * out_H * out_W + C + has_noise * out_H * out_W) + K * C * kh * kw
    return OperationCost(flops=N * per_sample + energy, moved_bytes=elements * element_bytes)


def _output_size(
    x_shape: tuple[int, int, int, int],
    weight_shape: tuple[int, int, int, int],
    options: ModulatedConv2dOptions,
) -> tuple[int, int]:
    up, down, padding = options.convolution.up, options.convolution.down, options.convolution.padding
    # The padding is grown by the filter so that it alone makes the size × up or / down.
    height = x_shape[2] * up + padding.y0 + padding.y1 - weight_shape[2] + 1
    width = x_shape[3] * up + padding.x0 + padding.x1 - weight_shape[3] + 1
    return -(-height // down), -(-width // down)


def _filter_flops(
    x_shape: tuple[int, int, int, int],
    weight_shape: tuple[int, int, int, int],
    f_shape: tuple[int, ...] | None,
    options: ModulatedConv2dOptions,
    out_size: tuple[int, int],
) -> int:
    """Count the filter after an upsampling convolution, or before a downsampling one."""
    up, down = options.convolution.up, options.convolution.down
    if f_shape is None or (up == 1 and down == 1):
        return 0
    taps_y, taps_x = f_shape[0], f_shape[-1]
    height, width = out_size
    channels = weight_shape[0]
    if down > 1:
        channels = x_shape[1]
        height, width = x_shape[2] + weight_shape[2] - 1, x_shape[3] + weight_shape[3] - 1
    full = (height + taps_y - 1, width + taps_x - 1)
    flops, _ = plane_flops(full, f_shape, Upfirdn2dOptions())
    return channels * flops
