"""Fewer bytes between processes: gradients in half precision, or as products of thin matrices."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

Compression = Literal["none", "bf16", "fp16", "powersgd"]
WIRE_DTYPES = {"none": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
POWERSGD_RANK = 4
_SMALLEST_MATRIX = 1024


@dataclass
class ExchangedBytes:
    """Count what was sent, and what float32 gradients would have taken."""

    sent: int = 0
    uncompressed: int = 0

    @property
    def saved_share(self) -> float:
        """Give the share that compression saved."""
        return 1 - self.sent / self.uncompressed if self.uncompressed else 0.0


def average_in(tensors: list[Tensor], dtype: torch.dtype, world_size: int) -> int:
    """Replace the tensors by their means over the processes, exchanged as `dtype`; return the bytes sent."""
    # Divided first: a sum of float16 could overflow.
    flat = torch.cat([tensor.detach().reshape(-1).float() for tensor in tensors]) / world_size
    wire = flat.to(dtype)
    torch.distributed.all_reduce(wire)
    start = 0
    for tensor in tensors:
        tensor.copy_(wire[start : start + tensor.numel()].reshape(tensor.shape))
        start += tensor.numel()
    return wire.numel() * wire.element_size()


def average_low_rank(tensors: list[Tensor], errors: dict[int, Tensor], world_size: int) -> int:
    """Replace the tensors by rank-4 approximations of their means; return the bytes sent.

    `errors` holds what the approximation of this process left out, by the tensor's place; it is added next
    time. Small tensors are exchanged whole. Vogels et al., PowerSGD, arXiv 1905.13727, algorithm 1.
    """
    large = [
        index for index, item in enumerate(tensors) if item.ndim > 1 and item.numel() >= _SMALLEST_MATRIX
    ]
    small = [item for index, item in enumerate(tensors) if index not in large]
    sent = average_in(small, torch.float32, world_size) if small else 0
    if not large:
        return sent
    matrices = [tensors[index].flatten(1) + errors.get(index, 0) for index in large]
    thin = []
    for index, matrix in zip(large, matrices, strict=True):
        generator = torch.Generator().manual_seed(index)
        thin.append(matrix @ torch.randn(matrix.shape[1], POWERSGD_RANK, generator=generator).to(matrix))
    sent += average_in(thin, torch.float32, world_size)
    bases = [torch.linalg.qr(item).Q for item in thin]
    coefficients = [matrix.T @ basis for matrix, basis in zip(matrices, bases, strict=True)]
    sent += average_in(coefficients, torch.float32, world_size)
    for index, matrix, basis, coefficient in zip(large, matrices, bases, coefficients, strict=True):
        approximation = basis @ coefficient.T
        errors[index] = matrix - approximation
        tensors[index].copy_(approximation.reshape(tensors[index].shape))
    return sent
