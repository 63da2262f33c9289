import pytest
import torch

from gantune.training.augment import augment, draw_augmentation
from gantune.training.batches import seed_generator

IMAGES = torch.rand(4, 3, 16, 16, generator=seed_generator(8)) * 2 - 1


@pytest.mark.parametrize(("kind", "p"), [("none", 1.0), ("ada", 0.0), ("fixed", 0.0)])
def test_images_pass_where_nothing_is_asked(kind, p):
    draw = draw_augmentation(kind, 4, seed_generator(1), prefix="real.")
    assert augment(IMAGES, draw, p, kind=kind, prefix="real.") is IMAGES


@pytest.mark.parametrize("kind", ["ada", "diffaugment"])
def test_a_sample_does_not_depend_on_its_batch(kind):
    draw = draw_augmentation(kind, 4, seed_generator(1), prefix="real.")
    whole = augment(IMAGES, draw, 0.8, kind=kind, prefix="real.")
    parts = [
        augment(
            IMAGES[i : i + 1],
            {name: v[i : i + 1] for name, v in draw.items()},
            0.8,
            kind=kind,
            prefix="real.",
        )
        for i in range(4)
    ]
    assert torch.allclose(torch.cat(parts), whole, atol=1e-5)


def test_ada_changes_about_as_many_images_as_p_says():
    many = torch.rand(1, 1, 8, 8).expand(400, 1, 8, 8)
    draw = draw_augmentation("ada", 400, seed_generator(2), prefix="")
    changed = (augment(many, draw, 0.1, kind="ada", prefix="") - many).abs().amax(dim=(1, 2, 3)) > 1e-6
    # Fifteen decisions; a few happen without effect (flips and turns by nothing, colors of gray pictures).
    assert 0.55 < float(changed.float().mean()) < 0.8
