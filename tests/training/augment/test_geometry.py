from math import pi, sqrt

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from gantune.training.augment.chance import draw_columns
from gantune.training.augment.geometry import (
    BLIT_NAMES,
    GEOMETRY_NAMES,
    SYM6,
    blit_matrix,
    geometry_matrix,
    warp,
)
from gantune.training.batches import seed_generator

IMAGES = torch.rand(2, 3, 16, 16, generator=seed_generator(5))


def rotation(angle, shift=(0.0, 0.0)):
    c, s = torch.cos(torch.tensor(angle)), torch.sin(torch.tensor(angle))
    return torch.tensor([[[c, -s, shift[0]], [s, c, shift[1]], [0, 0, 1]]]).expand(2, 3, 3)


def decide(names, count=1, **values):
    """Decisions that all happen, with uniform 0.5 and normal 0 unless given as (uniform, normal)."""
    draw = {name: torch.tensor([[0.0, 0.5, 0.0]] * count) for name in names}
    for name, (uniform, normal) in values.items():
        draw[name] = torch.tensor([[0.0, uniform, normal]] * count)
    return draw


def smooth(size=32):
    t = torch.linspace(0, 2 * pi, size + 1)[:-1] + pi / size
    return (t.sin()[:, None] * 0.5 + (2 * t).cos()[None, :] * 0.25).expand(2, 1, size, size)


def test_the_wavelet_is_orthogonal():
    wavelet = torch.tensor(SYM6, dtype=torch.float64)
    assert float(wavelet.sum()) == pytest.approx(sqrt(2))
    for shift in range(0, 12, 2):
        product = float((wavelet[shift:] * wavelet[: 12 - shift]).sum())
        assert product == pytest.approx(1.0 if shift == 0 else 0.0, abs=1e-12)


def test_samples_that_stay_are_not_touched():
    eye = torch.eye(3).expand(2, 3, 3).clone()
    assert warp(IMAGES, eye) is IMAGES
    eye[1, 0, 2] = 3.0
    warped = warp(IMAGES, eye)
    assert torch.equal(warped[0], IMAGES[0])
    assert not torch.equal(warped[1], IMAGES[1])


@pytest.mark.parametrize(
    ("matrix", "expected"),
    [
        (torch.diag(torch.tensor([-1.0, 1.0, 1.0])), lambda x: x.flip(3)),
        (rotation(pi / 2)[0], lambda x: torch.rot90(x, 1, (2, 3))),
        (rotation(0.0, (2.0, 0.0))[0], lambda x: x.roll(-2, 3)),
        (rotation(0.0, (0.0, -3.0))[0], lambda x: x.roll(3, 2)),
    ],
    ids=["flip", "quarter turn", "shift in x", "shift in y"],
)
def test_matrices_say_where_a_place_is_read(matrix, expected):
    images = smooth()
    warped = warp(images, matrix.expand(2, 3, 3))
    inner = (slice(None), slice(None), slice(6, -6), slice(6, -6))
    assert (warped - expected(images))[inner].abs().max() < 0.02


def test_blits_are_flips_quarter_turns_and_whole_shifts():
    draw = decide(
        BLIT_NAMES, flip=(0.4, 0), quarter_turn=(0.3, 0), whole_shift_x=(1.0, 0), whole_shift_y=(0.5, 0)
    )
    matrix = blit_matrix(draw, 1.0, height=32, width=32)[0]
    # A quarter turn of a shift by 32/8 = 4, flipped in x.
    assert matrix.tolist() == [[0, 1, 0], [1, 0, 4], [0, 0, 1]]


def test_geometry_scales_turns_and_shifts():
    draw = decide(GEOMETRY_NAMES, scale=(0, 5.0), shift_x=(0, 1.0))
    matrix = geometry_matrix(draw, 0.999999, height=32, width=32)[0]
    # Twice as large: a place is read at half its distance; 1/8 of 32 pixels are 4, halved as well.
    assert torch.allclose(matrix, torch.tensor([[0.5, 0, 2], [0, 0.5, 0], [0, 0, 1]]))


def test_nothing_happens_at_probability_zero():
    draw = draw_columns(BLIT_NAMES + GEOMETRY_NAMES, 4, seed_generator(1))
    for matrix in (blit_matrix(draw, 0.0, height=8, width=8), geometry_matrix(draw, 0.0, height=8, width=8)):
        assert torch.equal(matrix, torch.eye(3).expand(4, 3, 3))


@pytest.mark.parametrize(("names", "build"), [(BLIT_NAMES, blit_matrix), (GEOMETRY_NAMES, geometry_matrix)])
def test_first_and_second_derivatives_are_right(names, build):
    draw = draw_columns(names, 2, seed_generator(3))
    matrix = build(draw, 0.8, height=8, width=8).double()
    images = torch.rand(2, 1, 8, 8, dtype=torch.float64, generator=seed_generator(2)).requires_grad_()

    def squared(x):
        return warp(x, matrix).square()

    assert gradcheck(squared, (images,), fast_mode=True)
    assert gradgradcheck(squared, (images,), fast_mode=True)
