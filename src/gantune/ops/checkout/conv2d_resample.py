"""`torch_utils.ops.conv2d_resample`, run by gantune."""

from collections.abc import Sequence

from torch import Tensor

from gantune.ops.padding import parse_padding
from gantune.ops.resampled_convolution import ConvolutionOptions, convolve_resampled
from gantune.ops.upfirdn2d import OPERATION as UPFIRDN2D
from gantune.ops.upfirdn2d.options import Upfirdn2dOptions

__all__ = ["conv2d_resample"]


def conv2d_resample(
    x: Tensor,
    w: Tensor,
    f: Tensor | None = None,
    up: int = 1,
    down: int = 1,
    padding: int | Sequence[int] = 0,
    groups: int = 1,
    flip_weight: bool = True,
    flip_filter: bool = False,
) -> Tensor:
    """Convolve `x` [N, C, H, W] with `w` [K, C / groups, kh, kw], resampled with filter `f`."""
    options = ConvolutionOptions(up, down, parse_padding(padding), groups, flip_weight, flip_filter)
    return convolve_resampled(x, w, f, options, resample=_resample)


def _resample(x: Tensor, f: Tensor | None, options: Upfirdn2dOptions) -> Tensor:
    return UPFIRDN2D.run(None, x, f, options)
