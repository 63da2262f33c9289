"""What each band of frequencies lost, and the two-dimensional spectrum.

Quantization and bad resampling destroy the finest detail first: the last band shows it before any mean does.
"""

import numpy as np
from numpy.typing import NDArray

from gantune.errors import UsageError
from gantune.quality.spectrum import mean_power, rounding_noise_power
from gantune.records.score import BandLoss

Images = NDArray[np.floating]

# Octaves, in cycles a pixel; the last one ends in the corners of the frequency plane.
BANDS = ((0.0, 1 / 32), (1 / 32, 1 / 16), (1 / 16, 1 / 8), (1 / 8, 1 / 4), (1 / 4, 1 / 2), (1 / 2, 1.0))


def power_map_db(images: Images, *, value_range: float) -> NDArray[np.float64]:
    """Average the log power spectrum of images [N, C, H, W]: [H, W] in dB, frequency 0 in the middle.

    White noise of standard deviation `value_range` gives 0 dB throughout.
    """
    power = mean_power(images, value_range=value_range) + rounding_noise_power()
    return np.asarray(10 * np.log10(np.fft.fftshift(power)), dtype=np.float64)


def band_losses(candidate: Images, reference: Images, *, value_range: float) -> tuple[BandLoss, ...]:
    """Compare paired images [N, C, H, W] octave by octave, leaving out bands too low for the size."""
    if candidate.shape != reference.shape:
        raise UsageError(
            f"candidate has shape {list(candidate.shape)} and reference {list(reference.shape)}; they must "
            "be equal"
        )
    found = mean_power(candidate, value_range=value_range)
    expected = mean_power(reference, value_range=value_range)
    error = mean_power(candidate.astype(np.float64) - reference, value_range=value_range)
    height, width = found.shape
    radius = np.hypot(np.fft.fftfreq(height)[:, None], np.fft.fftfreq(width)[None, :])
    losses = []
    for low, high in BANDS:
        inside = (radius >= low) & (radius < high)
        if not inside.any():
            continue
        losses.append(
            _compare(low, high, found[inside].mean(), expected[inside].mean(), error[inside].mean())
        )
    return tuple(losses)


def _compare(low: float, high: float, found: float, expected: float, error: float) -> BandLoss:
    noise = rounding_noise_power()
    return BandLoss(
        low_frequency=low,
        high_frequency=high,
        power_change_db=float(10 * np.log10((found + noise) / (expected + noise))),
        error_db=None if error == 0 else float(10 * np.log10(error / (expected + noise))),
    )
