"""The stream of training batches: shuffled by seed and step alone, read ahead by worker processes."""

import signal
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

from gantune.errors import GantuneError, ScriptError
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


Batch = tuple[Tensor, Tensor]
_READY = 2


class _Answers(Dataset[Batch | GantuneError]):
    """Hand over an error as an item: what a worker raises, torch wraps into a page of its traceback."""

    def __init__(self, dataset: ImageDataset) -> None:
        self.dataset = dataset

    def __getitem__(self, indices: list[int]) -> Batch | GantuneError:
        try:
            return self.dataset[indices]
        except GantuneError as error:
            return error


def _leave_signals_to_the_loop(_: int) -> None:
    # A terminal sends Ctrl-C to every process; the loop still needs this one for the step it is in.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def explain_lost_workers() -> Iterator[None]:
    """Raise `ScriptError` in place of torch's own where a worker process was killed."""
    try:
        yield
    except RuntimeError as error:
        if "DataLoader worker" not in str(error):
            raise
        raise ScriptError(
            "A process that reads pictures was killed, perhaps for want of memory; resume the run, with "
            "--workers 0 if it happens again."
        ) from error


class BatchStream:
    """Yield (images [N, C, R, R] bytes, labels [N, label_dim]) for one step after the other.

    `workers` processes read ahead, and a thread takes their batches over while the step computes; they stay
    for the whole run and end with `close`. With 0 workers images are read in the loop.
    """

    def __init__(
        self, dataset: ImageDataset, schedule: BatchSchedule, *, workers: int, prefetch: int = 4
    ) -> None:
        ahead = {"prefetch_factor": prefetch, "persistent_workers": True} if workers else {}
        loader: DataLoader[Batch | GantuneError] = DataLoader(
            _Answers(dataset),
            batch_size=None,
            sampler=schedule,
            num_workers=workers,
            pin_memory=torch.cuda.is_available(),
            worker_init_fn=_leave_signals_to_the_loop,
            **ahead,  # type: ignore[arg-type]
        )
        self._batches: Iterator[Batch | GantuneError] | None = iter(loader)
        self._thread = ThreadPoolExecutor(1, "gantune-batches") if workers else None
        self._ready: deque[Future[Batch | GantuneError]] = deque()
        for _ in range(_READY):
            self._take_ahead()

    def next_batch(self) -> Batch:
        """Wait for the next batch; raise what went wrong where it was read."""
        assert self._batches is not None, "a closed stream gives no batch"
        if self._thread is None:
            answer = next(self._batches)
        else:
            answer = self._ready.popleft().result()
            # Asked for only now: the thread that fetches it would take the interpreter from this one.
            self._take_ahead()
        if isinstance(answer, GantuneError):
            raise answer
        return answer

    def close(self) -> None:
        """End the thread and the worker processes."""
        if self._thread is not None:
            self._thread.shutdown(cancel_futures=True)
        self._ready.clear()
        # The iterator owns the workers; torch joins them when it goes.
        self._batches = None

    def _take_ahead(self) -> None:
        if self._thread is not None and self._batches is not None:
            self._ready.append(self._thread.submit(next, self._batches))
