"""The dtype the operations compute in: half precision is widened to float32."""

import torch
from torch import Tensor


def computing_dtype(dtype: torch.dtype) -> torch.dtype:
    """Return float32 for the half precisions, else `dtype` itself."""
    return torch.float32 if dtype.itemsize < torch.float32.itemsize else dtype


def cast(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Return `x` in `dtype`, without a trace in exported programs where it has that dtype already."""
    return x if x.dtype == dtype else x.to(dtype)
