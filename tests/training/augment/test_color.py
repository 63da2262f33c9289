from math import pi

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from gantune.training.augment.chance import draw_columns
from gantune.training.augment.color import COLOR_NAMES, color_matrix, recolor
from gantune.training.batches import seed_generator

ORANGE = torch.tensor([1.0, 0.5, 0.0]).reshape(1, 3, 1, 1)
GRAY_OF_ORANGE = 0.5


def colored(**values):
    """Orange after the named decisions, as (uniform, normal); the others do not happen."""
    draw = {name: torch.tensor([[2.0, 0.5, 0.0]]) for name in COLOR_NAMES}
    for name, (uniform, normal) in values.items():
        draw[name] = torch.tensor([[0.0, uniform, normal]])
    return recolor(ORANGE, color_matrix(draw, 1.0)).flatten().tolist()


def test_nothing_happens_where_nothing_is_drawn():
    assert colored() == pytest.approx([1, 0.5, 0], abs=1e-6)


def test_brightness_adds_to_every_channel():
    assert colored(brightness=(0, 1.0)) == pytest.approx([1.2, 0.7, 0.2], abs=1e-6)


def test_contrast_multiplies():
    assert colored(contrast=(0, 2.0)) == pytest.approx([2, 1, 0], abs=1e-6)


def test_a_luma_flip_mirrors_on_the_gray_axis():
    # Gray 0.5 becomes −0.5, the distance from gray stays.
    assert colored(luma_flip=(0.1, 0)) == pytest.approx([0, -0.5, -1], abs=1e-6)


def test_a_third_of_a_hue_turn_moves_the_channels_on():
    assert colored(hue=(1 / 2 + 1 / 3, 0)) == pytest.approx([0, 1, 0.5], abs=1e-5)
    assert pi > 0


def test_saturation_scales_the_distance_from_gray():
    assert colored(saturation=(0, 1.0)) == pytest.approx(
        [GRAY_OF_ORANGE + 2 * (value - GRAY_OF_ORANGE) for value in (1, 0.5, 0)], abs=1e-6
    )


def test_one_channel_is_gray():
    draw = draw_columns(COLOR_NAMES, 3, seed_generator(4))
    matrix = color_matrix(draw, 1.0)
    gray = torch.rand(3, 1, 4, 4, generator=seed_generator(5))
    as_color = recolor(gray.expand(-1, 3, -1, -1), matrix)
    assert torch.allclose(recolor(gray, matrix), as_color.mean(dim=1, keepdim=True), atol=1e-5)


@pytest.mark.parametrize("channels", [1, 3])
def test_first_and_second_derivatives_are_right(channels):
    matrix = color_matrix(draw_columns(COLOR_NAMES, 2, seed_generator(3)), 0.9).double()
    images = torch.rand(2, channels, 3, 3, dtype=torch.float64, generator=seed_generator(2)).requires_grad_()

    def squared(x):
        return recolor(x, matrix).square()

    assert gradcheck(squared, (images,))
    assert gradgradcheck(squared, (images,))
