import math

import numpy as np
import pytest
from numpy.typing import NDArray

from gantune.errors import QualityError, UsageError
from gantune.quality.paired import compare_images, count_non_finite, is_exact, psnr_db, snr_db
from gantune.records.candidate import ImageQuality

Images = NDArray[np.float32]


def checkerboard(num_images: int = 2) -> Images:
    """±0.5, so variance 0.25: a standard deviation of a quarter of the range [−1, 1]."""
    rows, columns = np.indices((16, 16))
    plane = np.where((rows + columns) % 2, 0.5, -0.5).astype(np.float32)
    return np.broadcast_to(plane, (num_images, 3, 16, 16)).copy()


def test_psnr_of_a_constant_difference() -> None:
    reference = checkerboard()
    # mse 0.01, range 2: 10·log10(4/0.01) = 26.0206.
    assert psnr_db(reference + 0.1, reference, value_range=2) == pytest.approx(26.0206, abs=1e-4)


def test_psnr_is_averaged_over_images_not_over_errors() -> None:
    reference = checkerboard()
    candidate = reference.copy()
    candidate[0] += 0.1
    candidate[1] += 0.01
    # (26.0206 + 46.0206) / 2; from the mean error it would be 28.99.
    assert psnr_db(candidate, reference, value_range=2) == pytest.approx(36.0206, abs=1e-3)


def test_snr_is_the_variance_over_the_error_plus_the_offset() -> None:
    reference = checkerboard()
    # 10·log10(0.25/0.01) + 12.04 = 13.9794 + 12.04; PSNR is 26.0206.
    assert snr_db(reference + 0.1, reference) == pytest.approx(26.0194, abs=1e-4)


def test_values_outside_the_range_are_not_clipped() -> None:
    reference = checkerboard() + 1
    assert psnr_db(reference + 0.1, reference, value_range=2) == pytest.approx(26.0206, abs=1e-4)


def test_identical_images_have_no_psnr() -> None:
    quality = compare_images(checkerboard(), checkerboard(), value_range=2)
    assert quality.identical
    assert quality.psnr_db is None
    assert quality.snr_db is None
    assert quality.ssim == pytest.approx(1)
    assert quality.max_abs == 0
    assert quality.spectrum_db == 0
    assert quality.is_exact
    assert ImageQuality.model_validate_json(quality.model_dump_json()) == quality


def test_an_identical_image_among_others_is_left_out() -> None:
    reference = checkerboard()
    candidate = reference.copy()
    candidate[1] += 0.1
    quality = compare_images(candidate, reference, value_range=2)
    assert quality.psnr_db == pytest.approx(26.0206, abs=1e-3)
    assert not quality.identical
    assert quality.max_abs == pytest.approx(0.1, abs=1e-6)


def test_an_image_without_variance_has_no_finite_snr() -> None:
    flat = np.zeros((1, 3, 16, 16), np.float32)
    assert snr_db(flat + 0.1, flat) == -math.inf
    reference = np.concatenate([flat, checkerboard(1)])
    assert snr_db(reference + 0.1, reference) == pytest.approx(26.0194, abs=1e-3)


@pytest.mark.parametrize(
    ("scale", "error", "expected"),
    [(0.5, 0.99e-4, True), (0.5, 1.01e-4, False), (10, 0.99e-3, True), (10, 1.01e-3, False)],
)
def test_exact_is_relative_to_the_reference_where_that_exceeds_one(
    scale: float, error: float, expected: bool
) -> None:
    reference = np.full((1, 1, 4, 4), scale, np.float64)
    candidate = reference.copy()
    candidate[0, 0, 1, 2] -= error
    assert is_exact(candidate, reference) is expected


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_non_finite_images_are_refused_with_their_number(value: float) -> None:
    candidate = checkerboard()
    candidate[0, 0, 0, :2] = value
    assert count_non_finite(candidate) == 2
    with pytest.raises(QualityError, match=f"2 of {candidate.size} values of the candidate"):
        compare_images(candidate, checkerboard(), value_range=2)
    assert not is_exact(candidate, checkerboard())


def test_images_of_different_shapes_are_refused() -> None:
    with pytest.raises(UsageError, match=r"\[2, 3, 16, 16\] and reference \[1, 3, 16, 16\]"):
        compare_images(checkerboard(2), checkerboard(1), value_range=2)
