import pytest

from gantune.errors import UsageError
from gantune.training import NetworkShape
from gantune.training.shapes import ImageShape, plan_networks


def test_dcgan_mirrors_its_generator():
    plan = plan_networks(NetworkShape(cfg="dcgan", channel_base=64, channel_max=8), ImageShape(32, 1, 10))
    # min(64 / r, 8) channels at 4², 8² and 16²; then the image.
    assert [layer["width"] for layer in plan.generator["layers"]] == [8, 8, 4, 1]
    assert plan.discriminator["widths"] == [4, 8, 8]
    assert plan.generator["num_classes"] == plan.discriminator["num_classes"] == 10


def test_biggan_looks_at_maps_of_half_the_resolution():
    shape = NetworkShape(cfg="biggan", channel_base=256, channel_max=32, latent_dim=12)
    plan = plan_networks(shape, ImageShape(32, 3, 0))
    assert plan.generator["widths"] == [32, 32, 16, 8]
    # Blocks of the generator give 8², 16², 32²; of the discriminator 16², 8², 4², 4².
    assert plan.generator["attention_blocks"] == [1]
    assert plan.discriminator["widths"] == [16, 32, 32, 32]
    assert plan.discriminator["attention_blocks"] == [0]
    assert (plan.generator["num_classes"], plan.discriminator["num_classes"]) == (1, 0)


def test_a_latent_that_biggan_cannot_cut_is_refused():
    with pytest.raises(UsageError, match="into 4 equal parts; --latent-dim is 10"):
        plan_networks(NetworkShape(cfg="biggan", latent_dim=10), ImageShape(32, 3, 0))


def test_stylegan3_r_is_twice_as_wide():
    shape = NetworkShape(cfg="stylegan3-r", channel_base=100, channel_max=10)
    plan = plan_networks(shape, ImageShape(32, 3, 0))
    assert (plan.generator["channel_base"], plan.generator["channel_max"]) == (200, 20)
    assert plan.discriminator["channel_max"] == 10
