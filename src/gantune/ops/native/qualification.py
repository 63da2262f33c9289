"""Which calls the C++ kernels compute."""

import torch
from torch import Tensor

from gantune.ops.native.structures import ELEMENT_TYPES


def refuse(x: Tensor, *fixed: Tensor | None) -> str | None:
    """Return why the kernels cannot compute a call on `x`, or None; `fixed` tensors get no gradient."""
    if x.device.type != "cpu":
        return f"x is on {x.device.type}; the kernels run on the CPU"
    if x.dtype not in ELEMENT_TYPES:
        return f"x is {x.dtype}; the kernels take float32 and bfloat16"
    if x.numel() == 0:
        return "x is empty"
    if torch.is_grad_enabled() and any(f is not None and f.requires_grad for f in fixed):
        return "a filter requires a gradient, which the kernels do not compute"
    return None
