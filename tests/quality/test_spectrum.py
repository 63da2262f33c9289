import numpy as np
import pytest

from gantune.errors import UsageError
from gantune.quality.spectrum import power_db, spectrum_curve, spectrum_db

NOISE = np.random.default_rng(0).standard_normal((16, 3, 32, 32))


def test_white_noise_as_strong_as_the_range_has_no_color() -> None:
    assert np.abs(power_db(NOISE, value_range=1)).max() < 1.0
    assert np.abs(power_db(3 * NOISE[:, :, :24], value_range=3)).max() < 1.0


def test_doubling_the_contrast_adds_six_decibels() -> None:
    assert spectrum_db(2 * NOISE, NOISE, value_range=1) == pytest.approx(20 * np.log10(2), abs=0.01)
    assert spectrum_db(NOISE, 2 * NOISE, value_range=1) == pytest.approx(20 * np.log10(2), abs=0.01)


def test_stripes_of_one_pixel_show_at_half_a_cycle_a_pixel() -> None:
    stripes = np.where(np.arange(32) % 2, 1.0, -1.0) * np.ones((1, 1, 32, 32))
    curve = spectrum_curve("stripes", stripes, value_range=2)
    assert curve.frequency[-1] == 0.5
    assert len(curve.frequency) == 17
    assert curve.power_db[-1] == max(curve.power_db)
    assert max(curve.power_db[:14]) < curve.power_db[-1] - 40


def test_what_eight_bits_cannot_hold_does_not_count() -> None:
    flat = np.zeros((1, 1, 32, 32))
    assert spectrum_db(flat + 1e-5 * NOISE[:1, :1], flat, value_range=1) < 0.01


@pytest.mark.parametrize("shape", [(1, 3, 1, 1), (1, 3, 5, 2)])
def test_tiny_images_have_a_finite_spectrum(shape: tuple[int, ...]) -> None:
    assert np.isfinite(power_db(np.ones(shape), value_range=1)).all()


def test_images_of_two_sizes_are_refused() -> None:
    with pytest.raises(UsageError, match="one size"):
        spectrum_db(NOISE, NOISE[:, :, :24], value_range=1)
