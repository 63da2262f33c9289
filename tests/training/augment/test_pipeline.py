import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from gantune.training.augment import augment, draw_augmentation
from gantune.training.augment.pipeline import NAMES
from gantune.training.batches import seed_generator
from gantune.training.options import AugmentOptions

ADA = AugmentOptions(kind="ada")
EVERYTHING = AugmentOptions(kind="ada", groups=tuple(NAMES))
IMAGES = torch.rand(4, 3, 16, 16, generator=seed_generator(8)) * 2 - 1


@pytest.mark.parametrize(("kind", "p"), [("none", 1.0), ("ada", 0.0), ("fixed", 0.0)])
def test_images_pass_where_nothing_is_asked(kind, p):
    options = AugmentOptions(kind=kind)
    draw = draw_augmentation(options, 4, (3, 16, 16), seed_generator(1), prefix="real.")
    assert augment(IMAGES, draw, p, options=options, prefix="real.") is IMAGES


@pytest.mark.parametrize("options", [EVERYTHING, AugmentOptions(kind="diffaugment")])
def test_a_sample_does_not_depend_on_its_batch(options):
    draw = draw_augmentation(options, 4, (3, 16, 16), seed_generator(1), prefix="real.")
    whole = augment(IMAGES, draw, 0.8, options=options, prefix="real.")
    parts = [
        augment(
            IMAGES[i : i + 1],
            {name: v[i : i + 1] for name, v in draw.items()},
            0.8,
            options=options,
            prefix="real.",
        )
        for i in range(4)
    ]
    assert torch.allclose(torch.cat(parts), whole, atol=1e-5)


def test_ada_changes_about_as_many_images_as_p_says():
    many = torch.rand(1, 1, 8, 8).expand(400, 1, 8, 8)
    draw = draw_augmentation(ADA, 400, (1, 8, 8), seed_generator(2), prefix="")
    changed = (augment(many, draw, 0.1, options=ADA, prefix="") - many).abs().amax(dim=(1, 2, 3)) > 1e-6
    # Fifteen decisions; a few happen without effect (flips and turns by nothing, colors of gray pictures).
    assert 0.55 < float(changed.float().mean()) < 0.8


@pytest.mark.parametrize("group", NAMES)
def test_each_group_alone_changes_images_and_has_right_first_and_second_derivatives(group):
    options = AugmentOptions(kind="fixed", groups=(group,))
    draw = draw_augmentation(options, 2, (1, 8, 8), seed_generator(5), prefix="")
    images = torch.rand(2, 1, 8, 8, dtype=torch.float64, generator=seed_generator(2)).requires_grad_()

    def squared(x):
        return augment(x, draw, 1.0, options=options, prefix="").square()

    assert not torch.equal(squared(images), images.square())
    assert gradcheck(squared, (images,), fast_mode=True)
    assert gradgradcheck(squared, (images,), fast_mode=True)
