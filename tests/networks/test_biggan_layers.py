import pytest

from gantune.errors import UsageError
from gantune.networks.biggan import BigGANGenerator
from gantune.networks.biggan_deep import BigGANDeepGenerator
from gantune.networks.biggan_discriminator import BigGANDiscriminator

WIDTHS = {"widths": [16, 16, 16], "num_classes": 3}


@pytest.mark.parametrize("position", [2, -1])
@pytest.mark.parametrize("kind", [BigGANGenerator, BigGANDeepGenerator])
def test_attention_behind_a_block_that_is_not_there_is_refused(kind, position):
    with pytest.raises(UsageError, match=rf"behind block {position}; this network has 2 blocks, 0 to 1"):
        kind(**WIDTHS, attention_blocks=[position], z_dim=12)


def test_a_discriminator_refuses_it_too():
    with pytest.raises(UsageError, match="behind block 3; this network has 3 blocks"):
        BigGANDiscriminator(resolution=16, **WIDTHS, attention_blocks=[3])
