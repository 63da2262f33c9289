from dataclasses import replace

import pytest
import torch

from gantune.errors import UsageError
from gantune.optimizing.mixed_bits import choose_mixed
from gantune.optimizing.quantization_candidates import Prepared, draw_selection_inputs
from gantune.optimizing.quantization_options import QuantizationRun
from gantune.optimizing.revert import revert_worst_layers
from gantune.transforms import freeze
from gantune.transforms.quantize import calibrate, choose_bits
from transform_samples import build_small


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    network = freeze(build_small("srvgg"))
    batches = [network.sample_inputs(4, seed) for seed in (0, 1)]
    return Prepared(network, calibrate(network, batches))


def mix(prepared: Prepared, **budget: float) -> dict[str, int | None]:
    run = QuantizationRun(**budget)
    inputs = draw_selection_inputs(prepared.network, replace(run, image_size=16))
    mixed = choose_mixed(prepared, inputs, run)
    return {name: bits.weights for name, bits in choose_bits(prepared.calibration, mixed.scheme).items()}


def test_without_a_budget_nothing_changes(prepared: Prepared) -> None:
    run = QuantizationRun()
    assert choose_mixed(prepared, {}, run) is run


def test_a_size_is_kept_with_bits_that_files_hold(prepared: Prepared) -> None:
    sizes = {name: record.num_weights for name, record in prepared.calibration.layers.items()}
    rest = 4 * (sum(item.numel() for item in prepared.network.parameters()) - sum(sizes.values()))
    budget = rest + 0.75 * sum(sizes.values())
    chosen = mix(prepared, max_size_mb=budget / 2**20)
    assert set(chosen.values()) == {4, 8}
    used = rest + sum(size * (chosen[name] or 32) / 8 for name, size in sizes.items())
    assert used <= budget
    # One more layer of 8 bits would not fit.
    spare = budget - used
    assert all(sizes[name] / 2 > spare for name, bits in chosen.items() if bits == 4)


def test_mac_bits_are_kept(prepared: Prepared) -> None:
    macs = {name: record.macs for name, record in prepared.calibration.layers.items()}
    budget = 5.5 * 8 * sum(macs.values())
    chosen = mix(prepared, max_mac_bits=budget / 1e9)
    assert sum(macs[name] * (bits or 32) * 8 for name, bits in chosen.items()) <= budget
    assert len(set(chosen.values())) > 1


@pytest.mark.parametrize("budget", [{"max_size_mb": 1e-4}, {"max_mac_bits": 1e-9}])
def test_an_impossible_budget_is_refused(prepared: Prepared, budget: dict[str, float]) -> None:
    with pytest.raises(UsageError, match=r"impossible: [24] bits everywhere cost"):
        mix(prepared, **budget)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"max_size_mb": 1.0, "max_mac_bits": 1.0}, "both bounded"),
        ({"max_size_mb": 0.0}, "largest size is 0, an impossible budget"),
        ({"max_mac_bits": float("nan")}, "MAC·bits is nan, an impossible budget"),
    ],
)
def test_budgets_that_make_no_run_are_refused(values: dict[str, float], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        QuantizationRun(**values)


def test_a_reverted_layer_keeps_the_weight_bits_of_the_budget(prepared: Prepared) -> None:
    sizes = sum(record.num_weights for record in prepared.calibration.layers.values())
    rest = sum(item.numel() for item in prepared.network.parameters()) - sizes
    run = QuantizationRun(max_size_mb=(4 * rest + 0.5 * sizes) / 2**20, min_db=99.0, image_size=16)
    inputs = draw_selection_inputs(prepared.network, run)
    mixed = choose_mixed(prepared, inputs, run)
    selection = revert_worst_layers(prepared.network, prepared.calibration, inputs, mixed)
    assert selection.reverted
    assert all(bits.weights == 4 for bits in selection.bits.values())
    assert all(selection.asked[name].activations for name in selection.reverted)
    assert torch.isfinite(torch.tensor(selection.error_db))
