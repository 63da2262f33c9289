from math import log

import pytest
import torch

from gantune.errors import UsageError
from gantune.training.losses import (
    discriminator_loss,
    generator_loss,
    path_length_penalty,
    path_lengths,
    r1_penalty,
)
from stylegan_golden import assert_relative, load_golden

LOGITS = torch.tensor([[0.0], [2.0], [-3.0]])


def test_logistic_losses_are_softplus():
    assert generator_loss(LOGITS)[0].item() == pytest.approx(log(2))
    # softplus(−2) = log(1 + e^−2) = 0.126928
    assert generator_loss(LOGITS)[1].item() == pytest.approx(0.126928, abs=1e-6)
    assert discriminator_loss(LOGITS, is_real=True)[1].item() == pytest.approx(0.126928, abs=1e-6)
    assert discriminator_loss(LOGITS, is_real=False)[1].item() == pytest.approx(2.126928, abs=1e-6)


def test_hinge_losses_stop_at_the_margin():
    assert generator_loss(LOGITS, loss="hinge").flatten().tolist() == [0, -2, 3]
    assert discriminator_loss(LOGITS, is_real=True, loss="hinge").flatten().tolist() == [1, 0, 4]
    assert discriminator_loss(LOGITS, is_real=False, loss="hinge").flatten().tolist() == [1, 3, 0]


def test_an_unknown_loss_is_refused():
    with pytest.raises(UsageError, match="logistic, hinge"):
        generator_loss(LOGITS, loss="wasserstein")


def test_r1_of_a_quadratic_is_known_and_so_is_its_gradient():
    images = torch.tensor([1.0, -2.0, 0.5]).reshape(1, 3, 1, 1).requires_grad_()
    scale = torch.tensor(3.0, requires_grad=True)
    penalty = r1_penalty(scale * images.square().sum(dim=(1, 2, 3)), images)
    # The slope is 2·3·x, its square sum 36·5.25; the derivative by the scale is 8·3·5.25.
    assert penalty.tolist() == pytest.approx([189.0])
    penalty.sum().backward()
    assert scale.grad.item() == pytest.approx(126.0)


def test_r1_is_finite_where_the_slope_is_zero():
    images = torch.zeros(1, 1, 2, 2, requires_grad=True)
    scale = torch.tensor(1.0, requires_grad=True)
    r1_penalty(scale * images.square().sum(), images).sum().backward()
    assert scale.grad.item() == 0


def test_path_lengths_of_a_linear_map_are_known():
    # Image = gain · w of layer 0, so the slope is gain · directions: √((gain² · 25) / 2 layers).
    ws = torch.ones(1, 2, 2, requires_grad=True)
    gain = torch.tensor(2.0, requires_grad=True)
    directions = torch.tensor([3.0, 4.0]).reshape(1, 1, 1, 2)
    lengths = path_lengths((gain * ws[:, 0]).reshape(1, 1, 1, 2), ws, directions)
    assert lengths.tolist() == pytest.approx([50**0.5])
    lengths.sum().backward()
    assert gain.grad.item() == pytest.approx(12.5**0.5)


def test_path_lengths_have_a_finite_derivative_at_zero():
    ws = torch.zeros(1, 1, 2, requires_grad=True)
    gain = torch.tensor(0.0, requires_grad=True)
    path_lengths((gain * ws).reshape(1, 1, 1, 2), ws, torch.ones(1, 1, 1, 2)).sum().backward()
    assert torch.isfinite(gain.grad)


def test_path_lengths_are_the_authors():
    golden = load_golden("stylegan2-uncond-32")
    ws = golden.numbers["ws"].clone().requires_grad_()
    lengths = path_lengths(golden.generator.synthesis(ws), ws, golden.numbers["pl_noise"])
    assert_relative(lengths.detach(), golden.numbers["pl_lengths"])


def test_the_penalty_is_the_squared_distance_from_the_mean():
    assert path_length_penalty(torch.tensor([1.0, 4.0]), torch.tensor(2.0)).tolist() == [1, 4]
