"""Design the low-pass filters of StyleGAN3 (arXiv 2106.12423, appendix C)."""

from math import pi

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def design_lowpass(
    num_taps: int, *, cutoff: float, half_width: float, sampling_rate: float, is_radial: bool = False
) -> Tensor | None:
    """Return a Kaiser-windowed low-pass filter: [num_taps], or [num_taps, num_taps] where it is radial.

    Frequencies are in cycles per unit of the image; the transition band reaches `half_width` to both sides of
    `cutoff`. One tap is the identity: None. A radial filter is a windowed jinc, symmetric under rotation.
    """
    if num_taps == 1:
        return None
    window = np.kaiser(num_taps, _kaiser_beta(num_taps, 2 * half_width / (sampling_rate / 2)))
    position = (np.arange(num_taps) - (num_taps - 1) / 2) / sampling_rate
    if is_radial:
        taps = _jinc(np.hypot(*np.meshgrid(position, position)), cutoff) * np.outer(window, window)
    else:
        taps = np.sinc(2 * cutoff * position) * window
    return torch.from_numpy((taps / taps.sum()).astype(np.float32))


def _kaiser_beta(num_taps: int, width: float) -> float:
    """Return Kaiser's shape for a transition band of `width`, a fraction of the Nyquist frequency."""
    attenuation_db = 2.285 * (num_taps - 1) * pi * width + 7.95
    if attenuation_db > 50:
        return float(0.1102 * (attenuation_db - 8.7))
    if attenuation_db > 21:
        return float(0.5842 * (attenuation_db - 21) ** 0.4 + 0.07886 * (attenuation_db - 21))
    return 0.0


def _jinc(radius: NDArray[np.float64], cutoff: float) -> NDArray[np.float64]:
    """Return cutoff·J1(2π·cutoff·r)/r, the transform of a disc of radius `cutoff`; at 0 it is π·cutoff²."""
    bessel = torch.special.bessel_j1(torch.from_numpy(2 * pi * cutoff * radius)).numpy()
    at_zero = np.full_like(radius, pi * cutoff**2)
    values: NDArray[np.float64] = np.divide(cutoff * bessel, radius, out=at_zero, where=radius > 0)
    return values
