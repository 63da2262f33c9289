"""What upfirdn2d costs at least: no multiplication by an inserted zero, no sample computed to be dropped."""

from gantune.ops.operation_cost import OperationCost
from gantune.ops.upfirdn2d.options import Upfirdn2dOptions


def upfirdn2d_cost(
    x_shape: tuple[int, int, int, int],
    f_shape: tuple[int, ...] | None,
    options: Upfirdn2dOptions,
    *,
    element_bytes: int = 4,
) -> OperationCost:
    """Return the cost for an input of `x_shape` (N, C, H, W).

    `f_shape` is (taps,), (taps_y, taps_x) or None. A separable filter is counted as a
    vertical pass followed by a horizontal one.
    """
    N, C, H, W = x_shape
    flops, (out_H, out_W) = plane_flops((H, W), f_shape, options)
    return OperationCost(flops=N * C * flops, moved_bytes=N * C * (H * W + out_H * out_W) * element_bytes)


def plane_flops(
    size: tuple[int, int], f_shape: tuple[int, ...] | None, options: Upfirdn2dOptions
) -> tuple[int, tuple[int, int]]:
    """Return the floating-point operations of one plane of `size` (H, W), and the size of the result."""
    taps_y, taps_x = (1, 1) if f_shape is None else (f_shape[0], f_shape[-1])
    out_H, out_W = options.output_size(*size, taps_y=taps_y, taps_x=taps_x)
    # A sample of the result meets one in `up` of the taps; the others fall on inserted zeros.
    met_y, met_x = -(-taps_y // options.up_y), -(-taps_x // options.up_x)
    if f_shape is None:
        macs = 0
    elif len(f_shape) == 1:
        macs = out_H * size[1] * met_y + out_H * out_W * met_x
    else:
        macs = out_H * out_W * met_y * met_x
    return 2 * macs, (out_H, out_W)
