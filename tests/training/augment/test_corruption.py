import torch

from gantune.training.augment.corruption import GRAIN, add_noise, cut_out, draw_grain
from gantune.training.batches import seed_generator

IMAGES = torch.ones(2, 1, 8, 8)


def test_noise_has_the_drawn_deviation():
    grain = draw_grain(2, (1, 64, 64), seed_generator(1))
    draw = {"noise": torch.tensor([[0.3, 0.5, -2.0], [0.9, 0.5, 1.0]]), GRAIN: grain}
    noisy = add_noise(torch.zeros(2, 1, 64, 64), draw, 0.5)
    # |−2| · 0.1; the second sample is not chosen at this probability.
    assert torch.allclose(noisy[0], grain[0] * 0.2)
    assert torch.equal(noisy[1], torch.zeros(1, 64, 64))


def test_a_square_of_half_the_size_is_cut():
    draw = {name: torch.tensor([[0.3, 0.5, 0.0], [0.9, 0.5, 0.0]]) for name in ("cutout_x", "cutout_y")}
    cut = cut_out(IMAGES, draw, 0.5)
    assert (cut[0, 0, 2:6, 2:6] == 0).all()
    assert cut[0].sum() == 64 - 16
    assert torch.equal(cut[1], IMAGES[1])


def test_a_square_may_reach_over_the_edge():
    draw = {name: torch.tensor([[0.0, 0.0, 0.0]]) for name in ("cutout_x", "cutout_y")}
    assert cut_out(IMAGES[:1], draw, 1.0).sum() == 64 - 4
