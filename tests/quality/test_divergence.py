import copy

import pytest
import torch
from torch import Tensor, nn

from gantune.quality.divergence import compare_layers, find_divergence, find_non_finite_layer

INPUTS = {"input": torch.linspace(-1, 1, 12).reshape(3, 4)}


def make_network() -> nn.Sequential:
    torch.manual_seed(0)
    block = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
    return nn.Sequential(nn.Linear(4, 4), block, nn.Linear(4, 4))


def test_the_first_layer_that_differs_is_named() -> None:
    network = make_network()
    other = copy.deepcopy(network)
    with torch.no_grad():
        other.get_submodule("1.2").bias.add_(0.5)  # type: ignore[union-attr, operator]
    found = find_divergence(network, other, INPUTS)
    assert found is not None
    assert found.name == "1.2"
    assert found.relative_error == pytest.approx(0.5, abs=1e-6)


def test_layers_stand_in_the_order_they_finish_and_the_output_last() -> None:
    network = make_network()
    names = [difference.name for difference in compare_layers(network, copy.deepcopy(network), INPUTS)]
    assert names == ["0", "1.0", "1.1", "1.2", "1", "2", "output"]
    assert find_divergence(network, copy.deepcopy(network), INPUTS) is None


def test_a_layer_used_twice_counts_each_time() -> None:
    shared = nn.Linear(4, 4)
    network = nn.Sequential(shared, nn.ReLU(), shared)
    names = [difference.name for difference in compare_layers(network, copy.deepcopy(network), INPUTS)]
    assert names == ["0", "1", "0#2", "output"]


def test_a_different_way_to_the_same_output_is_no_divergence() -> None:
    network = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    other = copy.deepcopy(network)
    with torch.no_grad():
        for parameter in other[0].parameters():
            parameter.mul_(2)
        other[1].weight.div_(2)
    assert find_divergence(network, other, INPUTS) is None


def test_an_operation_in_place_does_not_blame_the_layer_before_it() -> None:
    layer = nn.Linear(4, 4).double()
    network = nn.Sequential(layer, nn.ReLU(inplace=True))
    other = nn.Sequential(copy.deepcopy(layer), nn.LeakyReLU(0.5, inplace=True))
    found = find_divergence(network, other, {"input": INPUTS["input"].double()})
    assert found is not None
    assert found.name == "1"


class Overflowing(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return (x.half() * 1e5).float()


def test_the_first_layer_with_a_non_finite_output_is_named() -> None:
    network = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Identity(), Overflowing()), nn.ReLU())
    assert find_non_finite_layer(network, INPUTS) == "1.1"
    assert find_non_finite_layer(make_network(), INPUTS) is None


def test_no_hook_stays_behind() -> None:
    network = make_network()
    compare_layers(network, network, INPUTS)
    assert not any(module._forward_hooks for module in network.modules())
