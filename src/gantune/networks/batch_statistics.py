"""Batch normalization in training: the statistics span the batches of all processes that train together."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

MOMENTUM = 0.1


def normalize_batch(
    x: Tensor, stored_mean: Tensor, stored_var: Tensor, *, eps: float, momentum: float = MOMENTUM
) -> Tensor:
    """Normalize x [N, C, H, W] by the mean and variance of its batch, and move the stored ones towards them.

    Ioffe and Szegedy, arXiv 1502.03167, algorithm 1. Every process must call it in the same order.
    """
    num_processes = count_processes()
    if num_processes == 1:
        return F.batch_norm(x, stored_mean, stored_var, training=True, momentum=momentum, eps=eps)
    mean = average_over_processes(x.mean(dim=(0, 2, 3)))
    centered = x - mean[:, None, None]
    var = average_over_processes(centered.square().mean(dim=(0, 2, 3)))
    count = num_processes * x.numel() // x.shape[1]
    with torch.no_grad():
        stored_mean.lerp_(mean, momentum)
        stored_var.lerp_(var * (count / (count - 1)), momentum)
    return centered * (var + eps).rsqrt()[:, None, None]


def count_processes() -> int:
    """Return how many processes train together."""
    if not torch.distributed.is_available() or not torch.distributed.is_initialized():
        return 1
    return torch.distributed.get_world_size()


def average_over_processes(tensor: Tensor) -> Tensor:
    """Return the mean of `tensor` over the processes, differentiable as often as wanted."""
    result: Tensor = _Average.apply(tensor)  # type: ignore[no-untyped-call]
    return result


class _Average(torch.autograd.Function):
    """Average over the processes; the gradient of what all of them lose is averaged in the same way."""

    @staticmethod
    def forward(_: Any, tensor: Tensor) -> Tensor:
        total = tensor.clone(memory_format=torch.contiguous_format)
        torch.distributed.all_reduce(total)
        return total / torch.distributed.get_world_size()

    @staticmethod
    def backward(_: Any, *gradients: Tensor) -> Tensor:
        return average_over_processes(gradients[0])


class SharedBatchNorm2d(nn.BatchNorm2d):
    """Batch normalization whose statistics, in training, are those of all processes."""

    def forward(self, x: Tensor) -> Tensor:
        """Return the normalized `x` [N, C, H, W]."""
        if not self.training or count_processes() == 1:
            return super().forward(x)
        assert self.running_mean is not None
        assert self.running_var is not None
        assert self.num_batches_tracked is not None
        self.num_batches_tracked.add_(1)
        normalized = normalize_batch(x, self.running_mean, self.running_var, eps=self.eps)
        return normalized * self.weight[:, None, None] + self.bias[:, None, None]
