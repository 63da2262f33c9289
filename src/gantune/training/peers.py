"""The processes that train together; one process alone is the simplest case."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Peers:
    """Say which of how many processes this is, and combine numbers over all of them."""

    rank: int = 0
    world_size: int = 1

    @property
    def is_first(self) -> bool:
        """Say whether this process writes the files."""
        return self.rank == 0

    @torch.no_grad()
    def average(self, tensors: Sequence[Tensor]) -> None:
        """Replace each tensor by its mean over the processes, in one exchange."""
        if self.world_size == 1 or not tensors:
            return
        flat = torch.cat([tensor.detach().reshape(-1).float() for tensor in tensors])
        torch.distributed.all_reduce(flat)
        flat /= self.world_size
        start = 0
        for tensor in tensors:
            tensor.copy_(flat[start : start + tensor.numel()].reshape(tensor.shape))
            start += tensor.numel()
