"""The pictures a run leaves: a sheet of real images, and one of fakes at every snapshot."""

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from gantune.records.interface import OutputSpec
from gantune.runtime.images import tile, to_pixels, write_png
from gantune.training.batches import seed_generator
from gantune.training.dataset import ImageDataset
from gantune.training.draws import class_input

COLUMNS, ROWS = 20, 10
_BATCH = 50
_SHEET = 3


def pick_labels(dataset: ImageDataset, *, seed: int) -> Tensor:
    """Pick the labels of a sheet: classes in turn, column by column, else those of random images."""
    if dataset.label_dim == 0:
        return torch.zeros(COLUMNS * ROWS, 0)
    is_one_hot = bool(((dataset.labels == 0) | (dataset.labels == 1)).all())
    if is_one_hot and dataset.label_dim <= COLUMNS:
        columns = torch.arange(COLUMNS * ROWS) % COLUMNS % dataset.label_dim
        return torch.eye(dataset.label_dim)[columns]
    chosen = torch.randint(dataset.num_stored, (COLUMNS * ROWS,), generator=seed_generator(seed, _SHEET, 1))
    return dataset.labels[chosen]


@torch.no_grad()
def write_fakes(average: nn.Module, labels: Tensor, path: Path, *, seed: int) -> None:
    """Write a sheet of images of the averaged generator; the latents depend on `seed` alone."""
    device = next(average.parameters()).device
    z = torch.randn(len(labels), int(average.z_dim), generator=seed_generator(seed, _SHEET))  # type: ignore[arg-type]
    images = []
    for start in range(0, len(z), _BATCH):
        c = labels[start : start + _BATCH].to(device)
        images.append(average(z[start : start + _BATCH].to(device), class_input(average, c)).cpu())
    _write_sheet(torch.cat(images).numpy(), path)


def read_reals(dataset: ImageDataset, *, seed: int) -> Tensor:
    """Read the images of a sheet: bytes [N, C, R, R]."""
    count = min(COLUMNS * ROWS, dataset.num_stored)
    order = torch.randperm(dataset.num_stored, generator=seed_generator(seed, _SHEET, 2))[:count]
    pixels, _ = dataset[order.tolist()]
    return pixels


def write_reals(pixels: Tensor, path: Path) -> None:
    """Write a sheet of images of the data set, given as bytes [N, C, R, R]."""
    _write_sheet(pixels.numpy().astype(np.float32) / 127.5 - 1, path)


def _write_sheet(images: NDArray[np.float32], path: Path) -> None:
    output = OutputSpec(channels=images.shape[1])
    write_png(path, tile([to_pixels(image, output) for image in images], columns=COLUMNS, gap=1))
