"""The processes that train together; one process alone is the simplest case."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta

import torch
from torch import Tensor

from gantune.errors import ScriptError
from gantune.training.compression import (
    WIRE_DTYPES,
    Compression,
    ExchangedBytes,
    average_in,
    average_low_rank,
)


@dataclass(frozen=True)
class Peers:
    """Say which of how many processes this is, and combine numbers over all of them.

    `compression` is that of gradients; `exchanged` counts their bytes.
    """

    rank: int = 0
    world_size: int = 1
    compression: Compression = "none"
    exchanged: ExchangedBytes = field(default_factory=ExchangedBytes)
    errors: dict[str, dict[int, Tensor]] = field(default_factory=dict)

    @property
    def is_first(self) -> bool:
        """Say whether this process writes the files."""
        return self.rank == 0

    @torch.no_grad()
    def average(self, tensors: Sequence[Tensor]) -> None:
        """Replace each tensor by its mean over the processes, exactly, in one exchange."""
        if self.world_size > 1 and tensors:
            average_in(list(tensors), torch.float32, self.world_size)

    @torch.no_grad()
    def average_gradients(self, gradients: Sequence[Tensor], *, phase: str) -> None:
        """Replace gradients by their means over the processes, compressed as asked."""
        if self.world_size == 1 or not gradients:
            return
        if self.compression == "powersgd":
            sent = average_low_rank(list(gradients), self.errors.setdefault(phase, {}), self.world_size)
        else:
            sent = average_in(list(gradients), WIRE_DTYPES[self.compression], self.world_size)
        self.exchanged.sent += sent
        self.exchanged.uncompressed += 4 * sum(item.numel() for item in gradients)

    def share_text(self, text: str) -> str:
        """Return what the first process passes in."""
        if self.world_size == 1:
            return text
        shared = [text]
        torch.distributed.broadcast_object_list(shared, src=0)
        return shared[0]

    @torch.no_grad()
    def check_equal(self, tensors: Sequence[Tensor]) -> None:
        """Raise `ScriptError` where the processes do not hold the very same numbers."""
        if self.world_size == 1:
            return
        own = torch.stack([tensor.double().sum() for tensor in tensors])
        highest, lowest = own.clone(), own.clone()
        torch.distributed.all_reduce(highest, torch.distributed.ReduceOp.MAX)
        torch.distributed.all_reduce(lowest, torch.distributed.ReduceOp.MIN)
        if not torch.equal(highest, lowest):
            raise ScriptError(
                f"The {self.world_size} processes no longer hold the same networks; resume from the last "
                "state, and start every process with the same options and library versions."
            )


@contextmanager
def join_peers(*, compression: Compression = "none", patience_s: float = 600) -> Iterator[Peers]:
    """Join the processes that torchrun started, or be one alone.

    A peer that is silent for `patience_s` ends the run.
    """
    if not torch.distributed.is_available() or not torch.distributed.is_torchelastic_launched():
        yield Peers()
        return
    backend = "nccl" if torch.cuda.is_available() else "gloo"
    torch.distributed.init_process_group(backend, timeout=timedelta(seconds=patience_s))
    try:
        yield Peers(torch.distributed.get_rank(), torch.distributed.get_world_size(), compression)
    finally:
        torch.distributed.destroy_process_group()
