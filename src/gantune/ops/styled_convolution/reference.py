"""The definition of styled convolution, in plain torch."""

import torch
import torch.nn.functional as F
from torch import Tensor

from gantune.ops.styled_convolution.options import StyledOptions


def styled_convolution_reference(x: Tensor, weight: Tensor, options: StyledOptions) -> Tensor:
    """Compute styled convolution step by step."""
    if options.scale_in is not None:
        x = x * options.scale_in[:, :, None, None]
    if options.smooth is None:
        y = F.conv2d(x, weight, padding=options.padding)
    else:
        y = _upsample(x, weight, options.smooth)
    if options.scale_out is not None:
        y = y * options.scale_out[:, :, None, None]
    if options.noise is not None:
        y = y + options.noise
    if options.bias is not None:
        y = y + options.bias[:, None, None]
    if options.slope is not None:
        y = torch.where(y < 0, y * options.slope[:, None, None], y)
    return y if options.clamp is None else y.clamp(-options.clamp, options.clamp)


def _upsample(x: Tensor, weight: Tensor, smooth: list[float]) -> Tensor:
    phases = F.conv2d(x, weight, padding=1)
    N, columns, height, width = phases.shape
    K = columns // 4
    y = (
        phases.reshape(N, 2, 2, K, height, width)
        .permute(0, 3, 4, 1, 5, 2)
        .reshape(N, K, 2 * height, 2 * width)
    )
    taps = torch.tensor(smooth, dtype=x.dtype)
    return F.conv2d(y, torch.outer(taps, taps).expand(K, 1, 3, 3), groups=K)
