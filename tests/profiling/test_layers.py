import time

import pytest
import torch
from torch import Tensor, nn

from gantune.profiling.layers import name_bottleneck, time_layers


class Sleeper(nn.Module):
    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds

    def forward(self, x: Tensor) -> Tensor:
        time.sleep(self.seconds)
        return x


class Outer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.slow = Sleeper(0.03)
        self.fast = Sleeper(0.01)

    def forward(self, x: Tensor) -> Tensor:
        time.sleep(0.02)
        return self.fast(self.fast(self.slow(x)))


def test_each_module_gets_its_own_time_without_what_it_calls() -> None:
    layers = {layer.name: layer for layer in time_layers(Outer(), {"x": torch.zeros(1)}, num_repeats=3)}
    assert layers["slow"].time_ms == pytest.approx(30, rel=0.2)
    assert layers["fast"].time_ms == pytest.approx(20, rel=0.2)
    assert layers["(network)"].time_ms == pytest.approx(20, rel=0.2)
    assert sum(layer.share for layer in layers.values()) == pytest.approx(1)


def test_the_bottleneck_names_kind_and_layer() -> None:
    layers = time_layers(Outer(), {"x": torch.zeros(1)}, num_repeats=1)
    assert name_bottleneck(layers).startswith("Sleeper layers take ")
    assert "slow" in name_bottleneck(layers)


def test_the_network_is_left_as_it_was() -> None:
    network = Outer()
    time_layers(network, {"x": torch.zeros(1)}, num_repeats=1)
    assert all("forward" not in vars(module) for module in network.modules())
