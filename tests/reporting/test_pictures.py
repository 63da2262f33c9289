"""Pictures reach the page at their true pixels, and the difference is amplified by a stated power of two."""

import base64
import io

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from gantune.errors import UsageError
from gantune.reporting.pictures import Sample, compare, encode_png


def decode(address: str) -> NDArray[np.uint8]:
    content = base64.b64decode(address.removeprefix("data:image/png;base64,"))
    return np.asarray(Image.open(io.BytesIO(content)))


def gray(height: int, width: int, value: float = 0.5) -> NDArray[np.float32]:
    return np.full((height, width, 3), value, dtype=np.float32)


def test_a_picture_survives_encoding() -> None:
    levels = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    assert (decode(encode_png((levels / 255).astype(np.float32))) == levels).all()


def test_one_channel_is_gray() -> None:
    assert decode(encode_png(np.ones((2, 3, 1), dtype=np.float32))).shape == (2, 3)


def test_large_pictures_show_their_middle() -> None:
    before = gray(600, 700, 0.0)
    before[44, 94] = 1
    shown = compare(Sample(title="x", before=before, after=before))
    assert (shown.width, shown.height, shown.cropped_from) == (512, 512, (700, 600))
    assert decode(shown.before)[0, 0].tolist() == [255, 255, 255]


def test_identical_pictures_have_no_amplification() -> None:
    shown = compare(Sample(title="x", before=gray(8, 8), after=gray(8, 8)))
    assert shown.amplification is None
    assert not decode(shown.difference).any()


def test_a_small_difference_is_amplified_by_a_power_of_two() -> None:
    # 1/(3/1000) = 333.3, and the largest power of two below it is 256.
    shown = compare(Sample(title="x", before=gray(8, 8), after=gray(8, 8, 0.503)))
    assert shown.amplification == 256
    assert decode(shown.difference)[0, 0, 0] == round(0.003 * 256 * 255)


@pytest.mark.parametrize("shape", [(8, 9, 3), (8, 8), (8, 8, 2)])
def test_other_shapes_are_refused(shape: tuple[int, ...]) -> None:
    before = gray(8, 8) if shape == (8, 9, 3) else np.zeros(shape, dtype=np.float32)
    with pytest.raises(UsageError, match=r"\[H, W, C\]"):
        Sample(title="x", before=before, after=np.zeros(shape, dtype=np.float32))
