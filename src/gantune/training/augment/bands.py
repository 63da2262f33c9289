"""Image-space filtering: random gains of four octave bands (ADA, arXiv 2006.06676, appendix B)."""

import torch
import torch.nn.functional as F
from torch import Tensor

from gantune.training.augment.chance import happens, normal
from gantune.training.dealing import Draw

BAND_NAMES = ("band_0", "band_1", "band_2", "band_3")
# The autocorrelation of the sym2 wavelet's low-pass, halved: a zero-phase half-band filter.
HALF_BAND = (-1 / 32, 0.0, 9 / 32, 16 / 32, 9 / 32, 0.0, -1 / 32)
# How natural images spread their power over the bands, lowest first: 1/f.
POWER = (10 / 13, 1 / 13, 1 / 13, 1 / 13)


def band_kernels() -> Tensor:
    """Return the filters [4, T] of the bands up to π/8, π/4, π/2 and π; they add up to the identity."""
    low, kernel = [], torch.ones(1, dtype=torch.float64)
    for octave in range(3):
        spread = torch.zeros(6 * 2**octave + 1, dtype=torch.float64)
        spread[:: 2**octave] = torch.tensor(HALF_BAND, dtype=torch.float64)
        kernel = _convolve(kernel, spread)
        low.append(kernel)
    taps = len(kernel)
    identity = torch.zeros(taps, dtype=torch.float64)
    identity[taps // 2] = 1
    widened = [F.pad(each, [(taps - len(each)) // 2] * 2) for each in low]
    bands = [widened[2], widened[1] - widened[2], widened[0] - widened[1], identity - widened[0]]
    return torch.stack(bands).float()


def band_gains(draw: Draw, p: float) -> Tensor:
    """Return gains [N, 4] that keep the power which is expected of a natural image."""
    count = draw[BAND_NAMES[0]].shape[0]
    gains = torch.ones(count, len(BAND_NAMES))
    power = torch.tensor(POWER)
    for index, name in enumerate(BAND_NAMES):
        factors = torch.ones(count, len(BAND_NAMES))
        factors[:, index] = torch.exp2(normal(draw, name) * happens(draw, name, p))
        gains = gains * factors / (factors.square() @ power).sqrt()[:, None]
    return gains


def amplify_bands(images: Tensor, gains: Tensor) -> Tensor:
    """Filter rows and columns of images [N, C, H, W], reflected outwards, with `gains` [N, 4] of the bands.

    Samples whose gains are all 1 are not touched.
    """
    moves = (gains - 1).abs().amax(dim=1) > 0
    if not bool(moves.any()):
        return images
    (moved,) = torch.nonzero(moves, as_tuple=True)
    kernels = (gains[moved] @ band_kernels()).to(images)  # [M, T]
    chosen = images[moved]
    filtered = _filter(_filter(chosen, kernels, dim=3), kernels, dim=2)
    return images.index_copy(0, moved.to(images.device), filtered)


def _filter(images: Tensor, kernels: Tensor, *, dim: int) -> Tensor:
    N, C, H, W = images.shape
    half = kernels.shape[1] // 2
    # A reflection reaches no further than the image.
    reach = min(half, images.shape[dim] - 1)
    kernels = kernels[:, half - reach : half + reach + 1]
    margins = [reach, reach, 0, 0] if dim == 3 else [0, 0, reach, reach]
    shape = (N, 1, 1, -1) if dim == 3 else (N, 1, -1, 1)
    weight = kernels.reshape(shape).repeat_interleave(C, dim=0)  # [N·C, 1, …]
    padded = F.pad(images, margins, mode="reflect")
    flat = padded.reshape(1, N * C, *padded.shape[2:])
    return F.conv2d(flat, weight, groups=N * C).reshape(N, C, H, W)


def _convolve(a: Tensor, b: Tensor) -> Tensor:
    """Return the whole convolution of two symmetric filters."""
    return F.conv1d(a[None, None], b[None, None], padding=len(b) - 1)[0, 0]
