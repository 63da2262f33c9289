"""The inputs a network is calibrated on: the latent prior, classes and psi, or crops of pictures."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from gantune.errors import UsageError
from gantune.networks.contract import Network
from gantune.records.interface import InputSpec
from gantune.runtime.images import list_images, read_image
from gantune.runtime.inputs import prepare_inputs
from gantune.runtime.sampling import Array, draw_inputs

# Calibration, selection and test inputs are disjoint: each has its own offset from the user's seed.
CALIBRATION_SEED_OFFSET = 2_000_003
SELECTION_SEED_OFFSET = 3_000_017
_BATCH = 4
_PSI = (1.0, 0.7)


def draw_calibration_inputs(
    network: Network, *, num_samples: int, seed: int, pictures: Path | None, image_size: int
) -> Iterator[dict[str, Tensor]]:
    """Draw batches of four, each made when it is asked for; `seed` already holds its offset.

    Style networks take psi 1 and 0.7 in turn. An image input takes random crops of the pictures in a folder.
    Raise `UsageError` where pictures are named and the network takes none, or they are too small.
    """
    image = next((spec for spec in network.inputs if spec.kind == "image"), None)
    if pictures is not None and image is None:
        raise UsageError("Calibration pictures were named, but this network takes none. Leave them out.")
    for index in range(-(-num_samples // _BATCH)):
        count = min(_BATCH, num_samples - index * _BATCH)
        arrays = draw_inputs(network.inputs, count, seed + index, image_size=image_size)
        if pictures is not None and image is not None:
            arrays[image.name] = _crop_randomly(image, list_images(pictures), count, seed + index, image_size)
        batch = check_batch(network.inputs, arrays)
        if hasattr(network, "mapping"):
            batch["truncation_psi"] = torch.tensor(_PSI[index % len(_PSI)])
        yield batch


def check_batch(specs: Sequence[InputSpec], arrays: Mapping[str, Array]) -> dict[str, Tensor]:
    """Return a batch as tensors; raise `UsageError` in one sentence for NaN, wrong range, name or shape."""
    return {name: torch.from_numpy(array) for name, array in prepare_inputs(specs, dict(arrays)).items()}


def check_batches(
    specs: Sequence[InputSpec], batches: Iterable[Mapping[str, Array]]
) -> Iterator[dict[str, Tensor]]:
    """Check batches of the caller's own, one at a time as they are used."""
    for batch in batches:
        yield check_batch(specs, batch)


def _crop_randomly(spec: InputSpec, paths: Sequence[Path], count: int, seed: int, size: int) -> Array:
    generator = np.random.default_rng(seed)
    low = 0.0 if spec.low is None else spec.low
    high = 1.0 if spec.high is None else spec.high
    crops = []
    for path in (paths[index] for index in generator.integers(0, len(paths), count)):
        picture = read_image(path, low=low, high=high)
        height, width = picture.shape[1:]
        if min(height, width) < size:
            raise UsageError(f"{path} is {width}×{height}, smaller than the {size} pixels of a crop.")
        top, left = generator.integers(0, height - size + 1), generator.integers(0, width - size + 1)
        crops.append(picture[:, top : top + size, left : left + size])
    return np.stack(crops).astype(np.float32)
