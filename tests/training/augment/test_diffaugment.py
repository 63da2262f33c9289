import torch
from torch.autograd import gradcheck, gradgradcheck

from gantune.training.augment.chance import draw_columns
from gantune.training.augment.diffaugment import DIFFAUGMENT_NAMES, diffaugment
from gantune.training.batches import seed_generator


def decide(**uniforms):
    """Neutral decisions: no change of light, no slide, and the hole as far out as it goes, unless given."""
    neutral = {"light": 0.5, "vividness": 0.5, "sharpness": 0.5, "slide_x": 0.5, "slide_y": 0.5}
    chosen = neutral | {"hole_x": 0.0, "hole_y": 0.0} | uniforms
    return {name: torch.tensor([[0.0, value, 0.0]]) for name, value in chosen.items()}


def test_a_hole_of_half_the_size_is_cut():
    images = torch.ones(1, 1, 8, 8)
    # The center of the hole is place 0, so a quarter of the size is inside: 2 × 2 places.
    assert (diffaugment(images, decide()) == 0).sum() == 4
    centered = diffaugment(images, decide(hole_x=0.45, hole_y=0.45))
    assert (centered[0, 0, 2:6, 2:6] == 0).all()
    assert (centered == 0).sum() == 16


def test_a_slide_brings_in_zeros():
    images = torch.arange(1.0, 65).reshape(1, 1, 8, 8)
    slid = diffaugment(images, decide(slide_x=0.99, hole_x=0.99, hole_y=0.99))
    # An eighth of 8 is one place to the left.
    assert torch.equal(slid[0, 0, :6, :5], images[0, 0, :6, 1:6])


def test_brightness_saturation_and_contrast_follow_the_paper():
    images = torch.rand(1, 3, 8, 8, generator=seed_generator(1))
    far = {"hole_x": 0.0, "hole_y": 0.0}
    brighter = diffaugment(images, decide(light=0.8, **far))
    assert torch.allclose(brighter[:, :, 4:, 4:], images[:, :, 4:, 4:] + 0.3, atol=1e-5)
    gray = diffaugment(images, decide(vividness=0.0, **far))
    assert torch.allclose(gray[:, 0, 4:, 4:], images.mean(dim=1)[:, 4:, 4:], atol=1e-5)
    flat = diffaugment(images, decide(sharpness=0.0, **far))
    expected = (images - images.mean()) * 0.5 + images.mean()
    assert torch.allclose(flat[:, :, 4:, 4:], expected[:, :, 4:, 4:], atol=1e-5)


def test_first_and_second_derivatives_are_right():
    draw = draw_columns(DIFFAUGMENT_NAMES, 2, seed_generator(6))
    images = torch.rand(2, 2, 6, 6, dtype=torch.float64, generator=seed_generator(7)).requires_grad_()

    def squared(x):
        return diffaugment(x, draw).square()

    assert gradcheck(squared, (images,))
    assert gradgradcheck(squared, (images,))
