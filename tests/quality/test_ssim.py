import math

import numpy as np
import pytest

from gantune.errors import UsageError
from gantune.quality.ssim import ssim


def test_flat_images_differ_by_their_luminance_alone() -> None:
    a, b = np.full((1, 1, 16, 16), 0.5), np.full((1, 1, 16, 16), 0.3)
    # (2·0.5·0.3 + 0.01²) / (0.5² + 0.3² + 0.01²) = 0.3001 / 0.3401.
    assert ssim(a, b, value_range=1) == pytest.approx(0.3001 / 0.3401, abs=1e-9)


def test_ssim_is_the_definition_over_every_window() -> None:
    generator = np.random.default_rng(0)
    a, b = generator.uniform(-1, 1, (2, 13, 14))
    weights = [
        [math.exp(-((i - 5) ** 2 + (j - 5) ** 2) / (2 * 1.5**2)) for j in range(11)] for i in range(11)
    ]
    total = sum(map(sum, weights))
    values = []
    for row in range(3):
        for column in range(4):
            sums = dict.fromkeys(("a", "b", "aa", "bb", "ab"), 0.0)
            for i in range(11):
                for j in range(11):
                    weight = weights[i][j] / total
                    x, y = a[row + i, column + j], b[row + i, column + j]
                    for name, value in zip(sums, (x, y, x * x, y * y, x * y), strict=True):
                        sums[name] += weight * value
            var_a, var_b = sums["aa"] - sums["a"] ** 2, sums["bb"] - sums["b"] ** 2
            cov = sums["ab"] - sums["a"] * sums["b"]
            values.append(
                (2 * sums["a"] * sums["b"] + 0.0004)
                * (2 * cov + 0.0036)
                / ((sums["a"] ** 2 + sums["b"] ** 2 + 0.0004) * (var_a + var_b + 0.0036))
            )
    found = ssim(a[None, None], b[None, None], value_range=2)
    assert found == pytest.approx(sum(values) / len(values), abs=1e-12)


def test_an_image_smaller_than_the_window_has_an_ssim() -> None:
    image = np.random.default_rng(0).uniform(0, 1, (2, 3, 4, 1))
    assert ssim(image, image, value_range=1) == pytest.approx(1)
    assert ssim(image, 1 - image, value_range=1) < 0.9


def test_vectors_are_refused() -> None:
    with pytest.raises(UsageError, match=r"\[N, C, H, W\]"):
        ssim(np.zeros((2, 3)), np.zeros((2, 3)), value_range=1)
