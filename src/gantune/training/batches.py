"""The stream of training batches: shuffled by seed and step alone, read ahead by worker processes."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Sampler

from gantune.training.dataset import ImageDataset
from gantune.training.dealing import deal_positions


def seed_generator(*numbers: int) -> torch.Generator:
    """Return a random generator that depends on `numbers` alone."""
    state = int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0])
    return torch.Generator().manual_seed(state >> 1)


@dataclass(frozen=True)
class Share:
    """One process's part of every batch: the `rank`-th of `world_size`, in whole groups of `group_size`."""

    rank: int = 0
    world_size: int = 1
    group_size: int = 1


class BatchSchedule(Sampler[list[int]]):
    """Say which images each step uses, from `first_step` on, without end.

    Every epoch is a new permutation; the order depends on (seed, epoch) alone, so that a resumed run or
    another number of workers continues with the very same images.
    """

    def __init__(self, num_images: int, *, batch: int, seed: int, first_step: int = 0, share: Share) -> None:
        self.num_images = num_images
        self.batch = batch
        self.seed = seed
        self.first_step = first_step
        self.positions = deal_positions(
            batch, part=share.rank, num_parts=share.world_size, group_size=share.group_size
        ).tolist()

    def __iter__(self) -> Iterator[list[int]]:
        step, epoch = self.first_step, -1
        order: list[int] = []
        while True:
            indices = []
            for position in self.positions:
                wanted_epoch, place = divmod(step * self.batch + position, self.num_images)
                if wanted_epoch != epoch:
                    epoch, order = wanted_epoch, self._permute(wanted_epoch)
                indices.append(order[place])
            yield indices
            step += 1

    def _permute(self, epoch: int) -> list[int]:
        generator = seed_generator(self.seed, epoch, _SHUFFLE)
        permuted: list[int] = torch.randperm(self.num_images, generator=generator).tolist()
        return permuted


_SHUFFLE = 1


class BatchStream:
    """Yield (images [N, C, R, R] bytes, labels [N, label_dim]) for one step after the other.

    `workers` processes read ahead (0: read in the loop); they stay for the whole run and end with `close`.
    """

    def __init__(
        self, dataset: ImageDataset, schedule: BatchSchedule, *, workers: int, prefetch: int = 4
    ) -> None:
        ahead = {"prefetch_factor": prefetch, "persistent_workers": True} if workers else {}
        loader: DataLoader[tuple[Tensor, Tensor]] = DataLoader(
            dataset,
            batch_size=None,
            sampler=schedule,
            num_workers=workers,
            pin_memory=torch.cuda.is_available(),
            **ahead,  # type: ignore[arg-type]
        )
        self._batches: Iterator[tuple[Tensor, Tensor]] | None = iter(loader)

    def next_batch(self) -> tuple[Tensor, Tensor]:
        """Wait for the next batch."""
        assert self._batches is not None, "a closed stream gives no batch"
        return next(self._batches)

    def close(self) -> None:
        """End the worker processes."""
        # The iterator owns the workers; torch joins them when it goes.
        self._batches = None
