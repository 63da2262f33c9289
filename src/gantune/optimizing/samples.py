"""The inputs a run is judged on: test samples, and extreme inputs that must not break."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gantune.errors import UsageError
from gantune.records.interface import InputSpec
from gantune.runtime.images import list_images, read_image
from gantune.runtime.sampling import Array, draw_inputs

Picture = NDArray[np.float32]
NUM_TEST_SAMPLES = 8
# Test inputs stay clear of the seeds people generate and calibrate with.
TEST_SEED_OFFSET = 1_000_003
CALIBRATION_SEED_OFFSET = 2_000_003
NUM_CALIBRATION_BATCHES = 8
CALIBRATION_BATCH = 4


def draw_test_inputs(
    inputs: Sequence[InputSpec], *, seed: int, samples: Path | None, image_size: int
) -> dict[str, Array]:
    """Draw eight test samples; an image input takes center crops of the pictures at `samples` if given."""
    drawn = draw_inputs(inputs, NUM_TEST_SAMPLES, seed + TEST_SEED_OFFSET, image_size=image_size)
    if samples is None:
        return drawn
    image = next((spec for spec in inputs if spec.kind == "image"), None)
    if image is None:
        raise UsageError("--samples names pictures, but this network takes none. Leave it out.")
    return drawn | {image.name: _crop_pictures(image, list_images(samples), image_size)}


def draw_calibration_arrays(
    inputs: Sequence[InputSpec], *, seed: int, samples: Path | None, image_size: int
) -> Iterator[dict[str, Array]]:
    """Draw batches to calibrate integers on, disjoint from the test samples.

    An image input takes center crops of the pictures behind those of the test; without any, the corners of
    the test's pictures, which share no pixel with its crops.
    """
    image = next((spec for spec in inputs if spec.kind == "image"), None)
    crops = [] if samples is None or image is None else _crop_others(image, list_images(samples), image_size)
    for index in range(NUM_CALIBRATION_BATCHES):
        drawn = draw_inputs(
            inputs, CALIBRATION_BATCH, seed + CALIBRATION_SEED_OFFSET + index, image_size=image_size
        )
        if image is not None and crops:
            first = index * CALIBRATION_BATCH
            chosen = [crops[(first + offset) % len(crops)] for offset in range(CALIBRATION_BATCH)]
            drawn |= {image.name: np.stack(chosen)}
        yield drawn


def _crop_pictures(spec: InputSpec, paths: Sequence[Path], size: int) -> Picture:
    pictures = (_read_picture(spec, path, size) for path in paths[:NUM_TEST_SAMPLES])
    return np.stack([_crop_center(picture, size) for picture in pictures])


def _crop_others(spec: InputSpec, paths: Sequence[Path], size: int) -> list[Picture]:
    """Crop what the test does not: other pictures, or else the corners of those that are large enough."""
    others = paths[NUM_TEST_SAMPLES:][: NUM_CALIBRATION_BATCHES * CALIBRATION_BATCH]
    if others:
        return [_crop_center(_read_picture(spec, path, size), size) for path in others]
    crops = []
    for picture in (_read_picture(spec, path, size) for path in paths):
        if max(picture.shape[1:]) < 3 * size:
            continue
        for rows in (slice(None, size), slice(-size, None)):
            crops += [picture[:, rows, :size], picture[:, rows, -size:]]
    return crops


def _read_picture(spec: InputSpec, path: Path, size: int) -> Picture:
    low = 0.0 if spec.low is None else spec.low
    high = 1.0 if spec.high is None else spec.high
    picture = read_image(path, low=low, high=high)
    height, width = picture.shape[1:]
    if min(height, width) < size:
        raise UsageError(
            f"{path} is {width}×{height}, smaller than --image-size {size}; choose a smaller one."
        )
    return picture


def _crop_center(picture: Picture, size: int) -> Picture:
    top, left = (picture.shape[1] - size) // 2, (picture.shape[2] - size) // 2
    return picture[:, top : top + size, left : left + size]


def draw_extreme_inputs(
    inputs: Sequence[InputSpec], *, seed: int, image_size: int
) -> dict[str, dict[str, Array]]:
    """Name extreme inputs of one sample each.

    Truncation psi 0 and 1.5 where the network takes it; black, white and uniform-noise pictures, and odd
    sizes where sizes are free; four times the usual latent spread for latents and w.
    """
    usual = draw_inputs(inputs, 1, seed + TEST_SEED_OFFSET, image_size=image_size)
    found: dict[str, dict[str, Array]] = {}
    for spec in inputs:
        for name, value in _extremes(spec, usual[spec.name], seed).items():
            found[name] = usual | {spec.name: value}
    return found


def _extremes(spec: InputSpec, usual: Array, seed: int) -> dict[str, Array]:
    if spec.kind == "scalar":
        return {f"{spec.name} {value:g}": np.asarray(value, dtype=np.float32) for value in (0.0, 1.5)}
    if spec.kind in ("latent", "w", "vector"):
        return {f"{spec.name} × 4": (4 * usual).astype(np.float32)}
    if spec.kind != "image":
        return {}
    low = 0.0 if spec.low is None else spec.low
    high = 1.0 if spec.high is None else spec.high
    noise = np.random.default_rng(seed).uniform(low, high, usual.shape).astype(np.float32)
    found = {
        "black picture": np.full_like(usual, low),
        "white picture": np.full_like(usual, high),
        "noise picture": noise,
    }
    if isinstance(spec.shape[2], str) and isinstance(spec.shape[3], str):
        height, width = usual.shape[2] // 2 + 1, usual.shape[3] - 3
        found[f"odd size {width}×{height}"] = usual[:, :, :height, :width].copy()
    return found
