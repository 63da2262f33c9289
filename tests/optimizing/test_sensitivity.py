import numpy as np
import pytest
import torch
from torch import nn

from gantune.errors import UsageError
from gantune.optimizing.quantization_options import QuantizationRun
from gantune.optimizing.revert import (
    CANDIDATE_OBSERVERS,
    choose_observer,
    rank_layers,
    revert_worst_layers,
)
from gantune.optimizing.sensitivity import measure_sensitivity, run_network, run_with
from gantune.transforms.quantize import FLOAT, Calibration, LayerBits, QuantizeOptions, calibrate, choose_bits
from gantune.transforms.quantize.observers import Observer
from quantize_samples import OneLayer

INPUT = (8, 12, 12)


class Chain(OneLayer):
    """Four convolutions; the third one's input has one huge channel, which ruins a grid of 8 bits."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        layers = [nn.Conv2d(8, 8, 3, padding=1) for _ in range(3)] + [nn.Conv2d(8, 3, 3, padding=1)]
        super().__init__(nn.Sequential(*layers), INPUT)
        with torch.no_grad():
            layers[1].weight[0] *= 30
            layers[2].weight[:, 0] /= 30


@pytest.fixture(scope="module")
def chain() -> tuple[Chain, Calibration, dict[str, torch.Tensor]]:
    network = Chain()
    calibration = calibrate(network, [network.sample_inputs(8, seed) for seed in (0, 1)])
    return network, calibration, network.sample_inputs(4, seed=5)


Case = tuple[Chain, Calibration, dict[str, torch.Tensor]]


def test_each_layer_part_and_bits_is_measured_alone(chain: Case) -> None:
    network, calibration, inputs = chain
    table = measure_sensitivity(network, calibration, inputs, bits=(8, 2))
    assert len(table.rows) == 4 * 2 * 2
    row = next(r for r in table.rows if (r.layer, r.part, r.bits) == ("layer.1", "weights", 2))
    alone = dict.fromkeys(calibration.layers, FLOAT) | {"layer.1": LayerBits(2, None)}
    found = run_with(network, calibration, alone, inputs, QuantizeOptions())
    error = float(np.square(found - run_network(network, inputs)).mean())
    assert row.mean_square == pytest.approx(error, rel=1e-6)
    assert error > 0


def test_fewer_bits_cost_more(chain: Case) -> None:
    network, calibration, inputs = chain
    table = measure_sensitivity(network, calibration, inputs, bits=(8, 4, 2))
    # The second layer's tiny weights are lost in 8 bits already.
    for layer in set(calibration.layers) - {"layer.2"}:
        for part in ("weights", "activations"):
            errors = {r.bits: r.mean_square for r in table.rows if (r.layer, r.part) == (layer, part)}
            assert errors[8] < errors[4] < errors[2]


def test_the_layer_behind_the_huge_value_is_the_worst(chain: Case) -> None:
    network, calibration, inputs = chain
    bits = dict.fromkeys(calibration.layers, LayerBits(8, 8))
    order = rank_layers(network, calibration, inputs, QuantizeOptions(), bits)
    assert order[0] == "layer.2"
    assert sorted(order) == sorted(calibration.layers)


def test_single_errors_order_layers_as_brute_force_does(chain: Case) -> None:
    """Leave each layer in float in turn: the one whose absence helps most is the one ranked worst."""
    network, calibration, inputs = chain
    options = QuantizeOptions()
    expected = run_network(network, inputs)
    remaining = {}
    for name in calibration.layers:
        bits = dict.fromkeys(calibration.layers, LayerBits(None, 8)) | {name: FLOAT}
        found = run_with(network, calibration, bits, inputs, options)
        remaining[name] = float(np.square(found - expected).mean())
    table = measure_sensitivity(network, calibration, inputs, bits=(8,), parts=("activations",))
    single = {row.layer: row.mean_square for row in table.rows}
    assert max(single, key=single.__getitem__) == min(remaining, key=remaining.__getitem__)


def test_layers_are_reverted_until_the_gate_holds(chain: Case) -> None:
    network, calibration, inputs = chain
    kept = dict(choose_bits(calibration, QuantizeOptions()))
    assert kept["layer.2"].activations == 8
    loose = revert_worst_layers(network, calibration, inputs, QuantizationRun(min_db=1.0))
    assert loose.reverted == ()
    tight = revert_worst_layers(network, calibration, inputs, QuantizationRun(min_db=loose.error_db + 1))
    assert tight.reverted[0] == "layer.2"
    assert tight.error_db > loose.error_db + 1
    assert "layer.2" in tight.note
    impossible = revert_worst_layers(network, calibration, inputs, QuantizationRun(min_db=100.0))
    assert all(bits.activations is None for bits in impossible.bits.values())
    assert impossible.error_db < 100


def test_no_bits_are_refused(chain: Case) -> None:
    network, calibration, inputs = chain
    with pytest.raises(UsageError, match="No bits to analyze"):
        measure_sensitivity(network, calibration, inputs, bits=())


def test_the_observer_with_the_smallest_image_error_is_chosen_unless_one_is_named(chain: Case) -> None:
    network, calibration, inputs = chain
    bits = choose_bits(calibration, QuantizeOptions())
    expected = run_network(network, inputs)

    def error(observer: Observer) -> float:
        found = run_with(network, calibration, bits, inputs, QuantizeOptions(observer=observer))
        return float(np.square(found - expected).mean())

    best = min(CANDIDATE_OBSERVERS, key=error)
    assert len({error(observer) for observer in CANDIDATE_OBSERVERS}) > 1
    assert choose_observer(network, calibration, inputs, QuantizationRun()) == best
    assert choose_observer(network, calibration, inputs, QuantizationRun(observer="entropy")) == "entropy"
