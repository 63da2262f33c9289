import time

import pytest
import torch
from torch import Tensor, nn

from gantune.profiling.layers import name_bottleneck, time_layers
from gantune.records.report import LayerTime


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
    # One convolution is slowest, and two sleepers take more together.
    layers = (
        LayerTime(name="conv", kind="Conv2d", time_ms=40.0, share=0.4),
        LayerTime(name="slow", kind="Sleeper", time_ms=35.0, share=0.35),
        LayerTime(name="fast", kind="Sleeper", time_ms=25.0, share=0.25),
    )
    assert (
        name_bottleneck(layers)
        == "Sleeper layers take 60% of the time; the slowest layer, conv, takes 40% (40.0 ms)."
    )


def test_the_bottleneck_of_a_measured_network_is_its_slowest_layer() -> None:
    layers = time_layers(Outer(), {"x": torch.zeros(1)}, num_repeats=1)
    slowest = max(layers, key=lambda layer: layer.time_ms)
    total = sum(layer.share for layer in layers if layer.kind == "Sleeper")
    assert slowest.name == "slow"
    assert name_bottleneck(layers) == (
        f"Sleeper layers take {total:.0%} of the time; the slowest layer, slow, "
        f"takes {slowest.share:.0%} ({slowest.time_ms:.1f} ms)."
    )


def test_the_network_is_left_as_it_was() -> None:
    network = Outer()
    time_layers(network, {"x": torch.zeros(1)}, num_repeats=1)
    assert all("forward" not in vars(module) for module in network.modules())
