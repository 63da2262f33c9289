import numpy as np
import pytest
import torch

from gantune.errors import QualityError, UnsupportedError, UsageError
from gantune.quality.pixels import Pixels, pixels_from_bytes, pixels_from_output
from gantune.records.interface import OutputSpec


def test_every_declared_range_ends_at_0_and_255() -> None:
    for low, high in ((-1.0, 1.0), (0.0, 1.0), (0.0, 255.0)):
        images = np.linspace(low, high, 12, dtype=np.float32).reshape(1, 3, 2, 2)
        pixels = pixels_from_output(images, OutputSpec(low=low, high=high))
        assert (float(pixels.values.min()), float(pixels.values.max())) == (0, 255)
        assert pixels.is_rounded


def test_values_are_clipped_and_rounded_as_in_a_picture_file() -> None:
    images = torch.tensor([-1.5, 0.0, 0.5]).reshape(1, 3, 1, 1)
    assert pixels_from_output(images, OutputSpec()).values.flatten().tolist() == [0, 128, 191]
    plain = pixels_from_output(images, OutputSpec(), is_rounded=False)
    assert plain.values.flatten().tolist() == [0, 127.5, 191.25]
    assert not plain.is_rounded


def test_one_channel_is_repeated() -> None:
    pixels = pixels_from_bytes(np.full((2, 1, 4, 4), 7, np.uint8))
    assert pixels.values.shape == (2, 3, 4, 4)
    assert bool((pixels.values == 7).all())


def test_floats_without_a_range_and_other_shapes_are_refused() -> None:
    with pytest.raises(UsageError, match="float32"):
        pixels_from_bytes(np.zeros((1, 3, 2, 2), np.float32))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"\[N, 3, H, W\]"):
        Pixels(torch.zeros(3, 2, 2), is_rounded=True)
    with pytest.raises(UnsupportedError, match="1 or 3 channels"):
        pixels_from_bytes(np.zeros((1, 4, 2, 2), np.uint8))


def test_values_of_another_range_than_declared_are_refused() -> None:
    with pytest.raises(UsageError, match="outside the declared range"):
        pixels_from_output(np.full((1, 3, 2, 2), 200.0), OutputSpec())


def test_values_that_are_not_finite_are_refused() -> None:
    with pytest.raises(QualityError, match="12 of 12"):
        pixels_from_output(np.full((1, 3, 2, 2), np.nan), OutputSpec())
