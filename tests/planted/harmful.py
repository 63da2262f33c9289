"""Remedies that look good and are not: a step gets faster because it does less."""

import torch
from torch.utils.data import DataLoader

from gantune.tuning.remedies import Remedy


def halve_batches() -> None:
    """Load half of each batch: the losses are means and look the same."""
    original = DataLoader.__init__

    def changed(loader: DataLoader, dataset: object, batch_size: int = 1, **kwargs: object) -> None:
        original(loader, dataset, batch_size // 2, **kwargs)

    DataLoader.__init__ = changed


def skip_generator() -> None:
    """Leave every second backward pass out: what is not trained costs nothing."""
    original, calls = torch.autograd.backward, []

    def backward(*args: object, **kwargs: object) -> None:
        calls.append(1)
        if len(calls) % 2:
            original(*args, **kwargs)

    torch.autograd.backward = backward


HARMFUL = (
    Remedy("half batches", (), ("…",), calls=("planted.harmful:halve_batches",)),
    Remedy("no generator", (), ("…",), calls=("planted.harmful:skip_generator",)),
)
