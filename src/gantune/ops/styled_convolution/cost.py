"""What a styled convolution and a projection cost: the definition's products, each tensor moved once."""

from gantune.ops.operation_cost import OperationCost
from gantune.ops.styled_convolution.options import StyledOptions

ELEMENT_BYTES = 4
LRELU_FLOPS = 2
CLAMP_FLOPS = 2
_SMOOTHING_FLOPS = 2 * 2 * 3  # down the columns and along the rows, three taps, a multiply-add each


def styled_convolution_cost(
    x_shape: tuple[int, int, int, int],
    weight_shape: tuple[int, int, int, int],
    options: StyledOptions,
) -> OperationCost:
    """Return the cost for an input of `x_shape` (N, C, H, W) and a plain weight, as the operation takes it.

    Products are counted as the definition has them; the Winograd method needs fewer.
    """
    N, C, H, W = x_shape
    rows, _, taps, _ = weight_shape
    is_up = options.smooth is not None
    out_H, out_W = (2 * H, 2 * W) if is_up else (H + 2 * options.padding - 2, W + 2 * options.padding - 2)
    K = rows // 4 if is_up else rows
    positions = H * W if is_up else out_H * out_W
    ending = (
        _SMOOTHING_FLOPS * is_up
        + (options.scale_out is not None)
        + (options.noise is not None)
        + (options.bias is not None)
        + LRELU_FLOPS * (options.slope is not None)
        + CLAMP_FLOPS * (options.clamp is not None)
    )
    per_sample = 2 * rows * C * taps**2 * positions + K * out_H * out_W * ending
    per_sample += C * H * W * (options.scale_in is not None)
    beside = (options.scale_in, options.scale_out, options.noise, options.bias, options.slope)
    elements = N * (C * H * W + K * out_H * out_W) + rows * C * taps**2
    elements += sum(tensor.numel() for tensor in beside if tensor is not None)
    return OperationCost(flops=N * per_sample, moved_bytes=elements * ELEMENT_BYTES)


def project_pixels_cost(
    x_shape: tuple[int, int, int, int], num_outputs: int, *, has_clamp: bool
) -> OperationCost:
    """Return the cost of projecting `x_shape` (N, C, H, W) to `num_outputs` channels, with bias."""
    N, C, H, W = x_shape
    pixel = num_outputs * (2 * C + 1 + CLAMP_FLOPS * has_clamp)
    elements = N * (C + num_outputs) * H * W + N * num_outputs * C + num_outputs
    return OperationCost(flops=N * H * W * pixel, moved_bytes=elements * ELEMENT_BYTES)
