"""Weights of mixed bit width inside a budget of the user's: bytes, or multiply-accumulates times bits."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from torch import Tensor

from gantune.optimizing.bits import CostOf, choose_within_budget, mac_bits, refuse_impossible, stored_bytes
from gantune.optimizing.quantization_candidates import Prepared
from gantune.optimizing.quantization_options import QuantizationRun
from gantune.optimizing.sensitivity import measure_sensitivity
from gantune.transforms.quantize import LayerBits, choose_bits

# What files hold: integers of more than 4 bits take a byte.
STORED_BITS = (8, 4)
COUNTED_BITS = (8, 7, 6, 5, 4, 3, 2)
_MIB = 2**20


def choose_mixed(
    prepared: Prepared,
    inputs: Mapping[str, Tensor],
    run: QuantizationRun,
    *,
    on_progress: Callable[[str], None] = lambda _: None,
) -> QuantizationRun:
    """Return the run with the bits of each layer's weights that its budget allows; as it is without one.

    Raise `UsageError` for a budget below the fewest bits everywhere.
    """
    if not run.has_bit_budget:
        return run
    choices = STORED_BITS if run.max_size_mb is not None else COUNTED_BITS
    cost, budget = _price(prepared, run)
    refuse_impossible(dict.fromkeys(prepared.calibration.layers, dict.fromkeys(choices, 0.0)), cost, budget)
    on_progress("choosing each layer's bits within the budget")
    usual = choose_bits(prepared.calibration, run.scheme)
    table = measure_sensitivity(
        prepared.network,
        prepared.calibration,
        inputs,
        bits=choices,
        parts=("weights",),
        options=run.scheme,
    )
    chosen = choose_within_budget(table, cost, budget)
    bits = {name: LayerBits(number, usual[name].activations) for name, number in chosen.items()}
    return replace(run, scheme=replace(run.scheme, bits=bits))


def _price(prepared: Prepared, run: QuantizationRun) -> tuple[CostOf, float]:
    """Give what a layer costs, and what all layers together may."""
    calibration = prepared.calibration
    if run.max_size_mb is not None:
        parameters = sum(parameter.numel() for parameter in prepared.network.parameters())
        in_float = parameters - sum(record.num_weights for record in calibration.layers.values())
        return stored_bytes(calibration), run.max_size_mb * _MIB - 4 * in_float
    assert run.max_mac_bits is not None
    return mac_bits(calibration, run.scheme.activation_bits or 32), run.max_mac_bits * 1e9
