"""What filtered_lrelu costs at least: the upsampled image is computed but never written to memory."""

from gantune.ops.filtered_lrelu.options import FilteredLreluOptions
from gantune.ops.operation_cost import OperationCost
from gantune.ops.upfirdn2d.cost import plane_flops

LRELU_FLOPS = 2
CLAMP_FLOPS = 2


def filtered_lrelu_cost(
    x_shape: tuple[int, int, int, int],
    fu_shape: tuple[int, ...] | None,
    fd_shape: tuple[int, ...] | None,
    options: FilteredLreluOptions,
    *,
    has_bias: bool,
    element_bytes: int = 4,
) -> OperationCost:
    """Return the cost for an input of `x_shape` (N, C, H, W); all gains are folded into the filters."""
    N, C, H, W = x_shape
    up_flops, (mid_H, mid_W) = plane_flops((H, W), fu_shape, options.up_options)
    down_flops, (out_H, out_W) = plane_flops((mid_H, mid_W), fd_shape, options.down_options)
    each = LRELU_FLOPS + CLAMP_FLOPS * (options.clamp is not None)
    plane = up_flops + down_flops + mid_H * mid_W * each + H * W * has_bias
    elements = N * C * (H * W + out_H * out_W) + C * has_bias
    return OperationCost(flops=N * C * plane, moved_bytes=elements * element_bytes)
