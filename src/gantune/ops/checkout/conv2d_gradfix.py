"""`torch_utils.ops.conv2d_gradfix`, run by gantune: torch's own convolutions, which can be derived twice."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch.nn.functional as F
from torch import Tensor

__all__ = ["conv2d", "conv_transpose2d", "enabled", "no_weight_gradients"]

# Training scripts set this; the convolutions are the same whatever it says.
enabled = True


@contextmanager
def no_weight_gradients(disable: bool = True) -> Iterator[None]:
    """Do nothing: `torch.autograd.grad(..., inputs=[image])` computes no weight gradient to begin with."""
    del disable
    yield


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | tuple[int, int] = 1,
    padding: int | tuple[int, int] = 0,
    dilation: int | tuple[int, int] = 1,
    groups: int = 1,
) -> Tensor:
    """Convolve as torch.nn.functional.conv2d does."""
    return F.conv2d(input, weight, bias, stride, padding, dilation, groups)


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | tuple[int, int] = 1,
    padding: int | tuple[int, int] = 0,
    output_padding: int | tuple[int, int] = 0,
    groups: int = 1,
    dilation: int | tuple[int, int] = 1,
) -> Tensor:
    """Convolve as torch.nn.functional.conv_transpose2d does."""
    return F.conv_transpose2d(input, weight, bias, stride, padding, output_padding, groups, dilation)
