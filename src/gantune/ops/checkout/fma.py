"""`torch_utils.ops.fma`, run by gantune."""

import torch
from torch import Tensor

__all__ = ["fma"]


def fma(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """Return a · b + c, each broadcast to the others, in one pass."""
    return torch.addcmul(c, a, b)
