from collections.abc import Iterable, Mapping

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from gantune.errors import UsageError
from gantune.networks.catalogue import build_network
from gantune.optimizing.integers import IntegerRun, round_to_integers
from gantune.optimizing.sensitivity import run_network
from gantune.quality.paired import compare_images
from gantune.transforms import freeze, static_modulation
from gantune.transforms.quantize import is_quantized
from network_samples import SMALL_GENERATORS
from quantize_samples import OneLayer


class Chain(OneLayer):
    """Four convolutions; the third one's input has one huge channel, which ruins a grid of 8 bits."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        layers = [nn.Conv2d(8, 8, 3, padding=1) for _ in range(3)] + [nn.Conv2d(8, 3, 3, padding=1)]
        super().__init__(nn.Sequential(*layers), (8, 12, 12))
        with torch.no_grad():
            layers[1].weight[0] *= 30
            layers[2].weight[:, 0] /= 30


def batches_of(network: OneLayer) -> Iterable[Mapping[str, Tensor]]:
    return [network.sample_inputs(8, seed) for seed in range(3)]


def error_db(network: OneLayer, rounded: nn.Module) -> float:
    inputs = network.sample_inputs(8, seed=77)
    found, expected = run_network(rounded, inputs), run_network(network, inputs)
    quality = compare_images(found, expected, value_range=network.output.value_range)
    assert quality.psnr_db is not None
    return quality.psnr_db


def test_layers_are_reverted_until_the_budget_holds() -> None:
    network = Chain()
    free, note = round_to_integers(
        network, "openvino", IntegerRun(draw_calibration=lambda: batches_of(network))
    )
    assert note == ""
    asked = error_db(network, free) + 2
    run = IntegerRun(draw_calibration=lambda: batches_of(network), min_db=asked)
    bound, note = round_to_integers(network, "openvino", run)
    assert error_db(network, bound) >= asked
    assert "layers keep float activations: layer.2" in note


def test_the_second_candidate_of_an_engine_takes_the_layers_chosen_for_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    network = Chain()
    run = IntegerRun(draw_calibration=lambda: batches_of(network), min_db=38.0)
    first, _ = round_to_integers(network, "openvino", run)
    monkeypatch.setattr("gantune.optimizing.integers.revert_worst_layers", None)
    second, _ = round_to_integers(network, "openvino", run)
    inputs = network.sample_inputs(2, seed=5)
    assert np.array_equal(run_network(first, inputs), run_network(second, inputs))


def test_a_style_network_is_evened_out_first(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    network = static_modulation(freeze(build_network("stylegan2", SMALL_GENERATORS["stylegan2"]).eval()))
    evened = []
    monkeypatch.setattr(
        "gantune.optimizing.integers.equalize", lambda network, _: evened.append(network) or network
    )

    def draw() -> Iterable[Mapping[str, Tensor]]:
        return [network.sample_inputs(8, seed) for seed in range(3)]

    rounded, _ = round_to_integers(network, "openvino", IntegerRun(draw_calibration=draw))
    assert is_quantized(rounded)
    assert evened == [network]


def test_integers_without_inputs_or_for_another_engine_are_refused() -> None:
    network = Chain()
    with pytest.raises(UsageError, match="none were given"):
        round_to_integers(network, "openvino", None)
    with pytest.raises(UsageError, match="torch has no integer scheme"):
        round_to_integers(network, "torch", IntegerRun(draw_calibration=lambda: batches_of(network)))
