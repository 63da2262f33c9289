import pytest
import torch

from gantune.errors import UsageError
from gantune.transforms import layout
from transform_samples import EXACT, SMALL_NAMES, prepare, relative_error, run


@pytest.mark.parametrize("family", SMALL_NAMES)
def test_channels_last_is_exact(family: str) -> None:
    network = prepare(family)
    turned = layout(network, "channels_last")
    assert relative_error(run(turned), run(network)) <= EXACT


def test_convolution_weights_are_channels_last_in_the_copy_alone() -> None:
    network = prepare("rrdb")
    turned = layout(network)
    weight, original = turned.conv_body.weight, network.conv_body.weight
    assert weight.is_contiguous(memory_format=torch.channels_last)
    assert not original.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(weight, original)


def test_an_unknown_layout_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="there is: channels_last"):
        layout(prepare("srvgg"), "blocked")  # type: ignore[arg-type]
