import numpy as np
import pytest

from gantune.errors import UsageError
from gantune.quality.frequency_bands import BANDS, band_losses, power_map_db

NOISE = np.random.default_rng(0).standard_normal((8, 3, 64, 64)) / 4


def test_white_noise_fills_the_map_evenly() -> None:
    power = power_map_db(4 * NOISE, value_range=1)
    assert power.shape == (64, 64)
    assert abs(power.mean()) < 0.5


def test_a_wave_is_a_pair_of_peaks_about_the_middle() -> None:
    wave = np.sin(2 * np.pi * 8 * np.arange(64) / 64) * np.ones((1, 1, 64, 1))
    power = power_map_db(wave, value_range=2)
    peaks = {
        tuple(int(i) for i in np.unravel_index(index, power.shape)) for index in power.ravel().argsort()[-2:]
    }
    assert peaks == {(32, 24), (32, 40)}


def test_smoothing_loses_the_finest_band_first() -> None:
    smooth = (NOISE + np.roll(NOISE, 1, axis=3)) / 2
    losses = band_losses(smooth, NOISE, value_range=2)
    changes = [loss.power_change_db for loss in losses]
    assert changes == sorted(changes, reverse=True)
    assert abs(changes[0]) < 1
    assert changes[-1] < -3


def test_halving_the_contrast_loses_six_decibels_in_every_band() -> None:
    for loss in band_losses(NOISE / 2, NOISE, value_range=2):
        assert loss.power_change_db == pytest.approx(-6.02, abs=0.05)
        assert loss.error_db == pytest.approx(-6.02, abs=0.05)


def test_identical_images_have_no_error() -> None:
    assert all(
        loss.error_db is None and loss.power_change_db == 0
        for loss in band_losses(NOISE, NOISE, value_range=2)
    )


def test_bands_too_low_for_the_size_are_left_out() -> None:
    losses = band_losses(NOISE[:, :, :8, :8], NOISE[:, :, :8, :8], value_range=2)
    assert [(loss.low_frequency, loss.high_frequency) for loss in losses] == [BANDS[0], *BANDS[3:]]


def test_unpaired_images_are_refused() -> None:
    with pytest.raises(UsageError, match="must be equal"):
        band_losses(NOISE, NOISE[:2], value_range=2)
