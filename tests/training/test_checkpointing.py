import pytest
import torch

from gantune.measuring.live_bytes import LiveBytes
from gantune.networks.catalogue import build_network
from gantune.training import SpeedOptions
from gantune.training.checkpointing import recompute_blocks
from training_samples import small_recipe, steps_on_random_images

CONFIG = {"c_dim": 0, "img_resolution": 32, "img_channels": 3, "channel_base": 512, "channel_max": 32}


def peak_of_a_backward_pass(discriminator, images):
    with LiveBytes() as live:
        discriminator(images).sum().backward()
    discriminator.zero_grad()
    return live.peak_bytes


def test_blocks_keep_less_and_are_themselves_again_afterwards():
    discriminator = build_network("stylegan2", CONFIG, role="discriminator").requires_grad_(True)
    images = torch.rand(8, 3, 32, 32)
    kept = peak_of_a_backward_pass(discriminator, images)
    with recompute_blocks(discriminator):
        recomputed = peak_of_a_backward_pass(discriminator, images)
    assert recomputed < kept
    assert not [item for item in discriminator.modules() if "forward" in vars(item)]


def test_training_takes_the_same_steps():
    recipe = small_recipe()
    plain = steps_on_random_images(recipe, 2)
    spared = steps_on_random_images(recipe, 2, speed=SpeedOptions(workers=0, checkpointing=True))
    for name in ("loss/generator", "loss/discriminator", "r1_penalty", "path_length"):
        assert float(spared.records[name][0]) == pytest.approx(float(plain.records[name][0]), rel=1e-5)
