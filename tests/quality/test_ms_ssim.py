import numpy as np
import pytest
import torch
from torchmetrics.functional.image import multiscale_structural_similarity_index_measure

from gantune.errors import UsageError
from gantune.quality.ms_ssim import MIN_SIDE, ms_ssim


def test_flat_images_differ_by_luminance_at_the_last_scale_alone() -> None:
    a, b = np.full((1, 1, MIN_SIDE, MIN_SIDE), 0.5), np.full((1, 1, MIN_SIDE, MIN_SIDE), 0.3)
    # SSIM of flat planes is 0.3001 / 0.3401 (contrast is 1), raised to the last scale's weight.
    assert ms_ssim(a, b, value_range=1) == pytest.approx((0.3001 / 0.3401) ** 0.1333, abs=1e-9)


@pytest.mark.slow
def test_it_is_torchmetrics_on_textured_images() -> None:
    generator = np.random.default_rng(0)
    coarse = np.kron(generator.uniform(0, 1, (1, 2, 24, 24)), np.ones((8, 8)))
    noisy = np.clip(coarse + 0.1 * generator.standard_normal(coarse.shape), 0, 1)
    expected = multiscale_structural_similarity_index_measure(
        torch.from_numpy(noisy), torch.from_numpy(coarse), data_range=1.0
    )
    assert ms_ssim(noisy, coarse, value_range=1) == pytest.approx(float(expected), abs=2e-3)


def test_small_images_are_refused() -> None:
    with pytest.raises(UsageError, match="at least 176"):
        ms_ssim(np.zeros((1, 3, 64, 64)), np.zeros((1, 3, 64, 64)), value_range=1)
