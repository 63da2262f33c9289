"""Pruning by hand-made weights: which channels go, what the rest computes, and who is refused."""

from typing import cast

import pytest
import torch
from torch import nn

from gantune.errors import UnsupportedError, UsageError
from gantune.networks.catalogue import build_network
from gantune.networks.contract import Network
from gantune.transforms import prune
from network_samples import SMALL_GENERATORS


def test_channels_without_weight_go_and_the_pictures_stay_exact() -> None:
    """A network whose last half of the channels computes nothing is the same network without them."""
    network = build_network("srvgg", SMALL_GENERATORS["srvgg"])
    width = cast(int, cast(Network, network).config["num_feat"])
    dead = slice(width // 2, width)
    with torch.no_grad():
        for layer in list(cast(nn.ModuleList, network.body))[:-1]:
            if isinstance(layer, nn.Conv2d):
                layer.weight[dead] = 0
                assert layer.bias is not None
                layer.bias[dead] = 0
    pruned = prune(network, share=0.5)
    inputs = cast(Network, network).sample_inputs(2, seed=0)
    torch.testing.assert_close(pruned(**inputs), network(**inputs), rtol=0, atol=1e-6)
    assert cast(Network, pruned).config["num_feat"] == width // 2


def test_a_normalization_decides_too() -> None:
    """Channels of equal weights whose normalization scales by nothing are the ones that go."""
    network = build_network("dcgan", SMALL_GENERATORS["dcgan"])
    layers = cast(nn.ModuleList, network.layers)
    with torch.no_grad():
        for layer in list(layers)[:-1]:
            layer.conv.weight.fill_(0.1).add_(0.01 * torch.randn_like(layer.conv.weight))
            layer.norm.weight[::2] = 0
            layer.norm.bias[::2] = 0
    pruned = prune(network, share=0.5)
    inputs = cast(Network, network).sample_inputs(2, seed=0)
    torch.testing.assert_close(pruned(**inputs), network(**inputs), rtol=0, atol=1e-6)


@pytest.mark.parametrize("family", ["srvgg", "dcgan"])
def test_a_pruned_network_keeps_the_contract_and_the_original(family: str) -> None:
    network = build_network(family, SMALL_GENERATORS[family])
    before = {name: value.clone() for name, value in network.state_dict().items()}
    pruned = prune(network, share=0.25)
    rebuilt = type(pruned)(**cast(Network, pruned).config).eval()
    rebuilt.load_state_dict(pruned.state_dict())
    inputs = cast(Network, pruned).sample_inputs(2, seed=1)
    assert torch.equal(rebuilt(**inputs), pruned(**inputs))
    assert pruned(**inputs).shape == network(**inputs).shape
    assert sum(p.numel() for p in pruned.parameters()) < sum(p.numel() for p in network.parameters())
    assert all(torch.equal(value, network.state_dict()[name]) for name, value in before.items())


def test_a_network_whose_layers_meet_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="stylegan2 generator cannot be pruned"):
        prune(build_network("stylegan2", SMALL_GENERATORS["stylegan2"]))


@pytest.mark.parametrize("share", [0.0, 1.0, float("nan")])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(UsageError, match="must lie between 0 and 1"):
        prune(build_network("srvgg", SMALL_GENERATORS["srvgg"]), share=share)
