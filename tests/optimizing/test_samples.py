from pathlib import Path

import numpy as np
import pytest

from gantune.errors import UsageError
from gantune.optimizing.samples import (
    NUM_TEST_SAMPLES,
    draw_calibration_arrays,
    draw_extreme_inputs,
    draw_test_inputs,
)
from gantune.records.interface import InputSpec
from gantune.runtime.images import write_png

LATENT = InputSpec(name="z", kind="latent", shape=("N", 16))
PSI = InputSpec(name="truncation_psi", kind="scalar", shape=(), default=1.0)
IMAGE = InputSpec(name="image", kind="image", shape=("N", 3, "H", "W"), low=0, high=1)


def test_pictures_are_cropped_at_their_center(tmp_path: Path) -> None:
    pixels = np.zeros((20, 30, 3), dtype=np.uint8)
    pixels[6:14, 11:19] = 255
    write_png(tmp_path / "a.png", pixels)
    drawn = draw_test_inputs((IMAGE,), seed=0, samples=tmp_path, image_size=8)
    assert drawn["image"].shape == (1, 3, 8, 8)
    assert drawn["image"].min() == 1


def test_few_pictures_are_calibrated_on_at_their_corners(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (24, 30, 3))
    write_png(tmp_path / "a.png", pixels.astype(np.uint8))
    (tested,) = draw_test_inputs((IMAGE,), seed=0, samples=tmp_path, image_size=8)["image"]
    batches = list(draw_calibration_arrays((IMAGE,), seed=0, samples=tmp_path, image_size=8))
    crops = {crop.tobytes() for batch in batches for crop in batch["image"]}
    whole = np.moveaxis(pixels, 2, 0).astype(np.float32) / 255
    ends = (slice(None, 8), slice(-8, None))
    corners = [whole[:, rows, columns] for rows in ends for columns in ends]
    assert crops == {corner.tobytes() for corner in corners}
    assert tested.tobytes() not in crops


def test_pictures_behind_those_of_the_test_are_calibrated_on(tmp_path: Path) -> None:
    for index in range(NUM_TEST_SAMPLES + 2):
        write_png(tmp_path / f"{index:02}.png", np.full((8, 8, 3), 10 * index, dtype=np.uint8))
    batches = list(draw_calibration_arrays((IMAGE,), seed=0, samples=tmp_path, image_size=8))
    levels = {round(float(crop.max()) * 25.5) for batch in batches for crop in batch["image"]}
    assert levels == {NUM_TEST_SAMPLES, NUM_TEST_SAMPLES + 1}


def test_a_picture_smaller_than_the_size_is_refused(tmp_path: Path) -> None:
    write_png(tmp_path / "a.png", np.zeros((7, 30, 3), dtype=np.uint8))
    with pytest.raises(UsageError, match="smaller than --image-size 8"):
        draw_test_inputs((IMAGE,), seed=0, samples=tmp_path, image_size=8)


def test_pictures_for_a_network_without_them_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="takes none"):
        draw_test_inputs((LATENT,), seed=0, samples=tmp_path, image_size=8)


def test_extremes_cover_psi_and_latents_of_a_style_network() -> None:
    extremes = draw_extreme_inputs((LATENT, PSI), seed=0, image_size=8)
    assert set(extremes) == {"z × 4", "truncation_psi 0", "truncation_psi 1.5"}
    assert float(extremes["truncation_psi 1.5"]["truncation_psi"]) == 1.5
    assert np.array_equal(4 * extremes["truncation_psi 0"]["z"], extremes["z × 4"]["z"])


def test_extremes_of_an_image_network_are_black_white_noise_and_odd() -> None:
    extremes = draw_extreme_inputs((IMAGE,), seed=0, image_size=16)
    assert extremes["black picture"]["image"].max() == 0
    assert extremes["white picture"]["image"].min() == 1
    assert extremes["odd size 13×9"]["image"].shape == (1, 3, 9, 13)
    assert "noise picture" in extremes
