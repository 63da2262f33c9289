from pathlib import Path

import numpy as np
import pytest

from gantune.errors import CheckpointError, UnsupportedError
from gantune.records.interface import OutputSpec
from gantune.runtime.images import list_images, read_image, tile, to_pixels, write_png


def test_pixels_map_the_declared_range_to_bytes_and_clip() -> None:
    image = np.array([[[-2.0, -1.0, 0.0, 1.0, 2.0]]], dtype=np.float32)
    pixels = to_pixels(image, OutputSpec(low=-1, high=1, channels=1))
    assert pixels.shape == (1, 5, 3)
    assert pixels[0, :, 0].tolist() == [0, 0, 128, 255, 255]


def test_a_written_picture_is_read_back_in_the_asked_range(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (5, 7, 3)).astype(np.uint8)
    write_png(tmp_path / "a.png", pixels)
    image = read_image(tmp_path / "a.png", low=-1, high=1)
    assert image.shape == (3, 5, 7)
    assert np.array_equal(to_pixels(image, OutputSpec(low=-1, high=1)), pixels)
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]


def test_a_file_that_is_no_picture_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_text("no picture")
    with pytest.raises(CheckpointError, match="not a readable picture"):
        read_image(tmp_path / "a.png", low=0, high=1)
    with pytest.raises(CheckpointError, match="no picture at"):
        read_image(tmp_path / "b.png", low=0, high=1)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="holds no pictures"):
        list_images(tmp_path)


def test_a_vector_cannot_be_drawn() -> None:
    with pytest.raises(UnsupportedError, match="channels"):
        to_pixels(np.zeros((4, 2, 2), dtype=np.float32), OutputSpec(channels=4))


def test_tiles_stand_in_rows_with_a_gap() -> None:
    images = [np.full((2, 3, 3), value, dtype=np.uint8) for value in (10, 20, 30)]
    sheet = tile(images, columns=2, gap=1)
    assert sheet.shape == (5, 7, 3)
    assert sheet[0, 0, 0] == 10
    assert sheet[0, 4, 0] == 20
    assert sheet[3, 0, 0] == 30
    assert sheet[3, 4, 0] == 255
