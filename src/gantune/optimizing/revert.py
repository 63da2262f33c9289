"""Give the worst layers their float activations back until the image error is inside the gate."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from gantune.networks.contract import Network
from gantune.optimizing.quantization_options import QuantizationRun
from gantune.optimizing.sensitivity import measure_sensitivity, run_network, run_with
from gantune.quality.paired import compare_images
from gantune.transforms.quantize import WEIGHTS_ONLY, Calibration, LayerBits, QuantizeOptions, choose_bits
from gantune.transforms.quantize.observers import Observer

CANDIDATE_OBSERVERS: tuple[Observer, ...] = ("min_max", "mse", "percentile")
# Selection and test inputs differ, so the selection must be a little better than what is asked for.
MARGIN_DB = 0.5


@dataclass(frozen=True)
class Selection:
    """The bits of every layer, which layers were reverted, and the image error on the selection inputs.

    `asked` are the bits before any layer was reverted.
    """

    bits: Mapping[str, LayerBits]
    asked: Mapping[str, LayerBits]
    reverted: tuple[str, ...]
    error_db: float
    observer: Observer = "mse"

    @property
    def note(self) -> str:
        """Say in one sentence which layers keep float activations for the gate's sake."""
        if not self.reverted:
            return ""
        return f"Float activations were kept in {len(self.reverted)} layers: {', '.join(self.reverted)}."


def choose_observer(
    network: nn.Module, calibration: Calibration, inputs: Mapping[str, Tensor], run: QuantizationRun
) -> Observer:
    """Choose the observer whose ranges give the smallest image error, unless the run names one.

    Each looks at one tensor alone, and none is best for every generator.
    """
    if run.observer is not None:
        return run.observer
    expected = run_network(network, inputs)
    bits = choose_bits(calibration, run.scheme)
    errors: dict[Observer, float] = {}
    for observer in CANDIDATE_OBSERVERS:
        tried = replace(run, scheme=replace(run.scheme, observer=observer))
        errors[observer] = error_of_bits(network, calibration, bits, inputs, expected, tried)
    return max(errors, key=lambda observer: errors[observer])


def error_of_bits(
    network: nn.Module,
    calibration: Calibration,
    bits: Mapping[str, LayerBits],
    inputs: Mapping[str, Tensor],
    expected: NDArray[np.float32],
    run: QuantizationRun,
) -> float:
    """Give the image error in decibels, against `expected` on the same inputs, of layers with these bits."""
    assert isinstance(network, Network)
    found = run_with(network, calibration, bits, inputs, run.scheme)
    return run.error_db(compare_images(found, expected, value_range=network.output.value_range))


def revert_worst_layers(
    network: nn.Module,
    calibration: Calibration,
    inputs: Mapping[str, Tensor],
    run: QuantizationRun,
    *,
    on_progress: Callable[[str], None] = lambda _: None,
) -> Selection:
    """Start from the default bits, and revert layers, the worst first, until the gate holds.

    The worst is the layer whose activations cost the most squared error for each multiply-accumulate that
    their integers speed up.
    """
    asked = choose_bits(calibration, run.scheme)
    bits = dict(asked)
    expected = run_network(network, inputs)

    def error_db() -> float:
        return error_of_bits(network, calibration, bits, inputs, expected, run)

    reached = error_db()
    if reached >= run.min_db + MARGIN_DB:
        return Selection(bits, asked, (), reached, run.scheme.observer)
    on_progress("ranking the layers by what their rounding costs")
    waiting = rank_layers(network, calibration, inputs, run.scheme, bits)
    reverted = []
    while reached < run.min_db + MARGIN_DB and waiting:
        worst = waiting.pop(0)
        bits[worst] = LayerBits(bits[worst].weights, None) if run.has_bit_budget else WEIGHTS_ONLY
        reverted.append(worst)
        reached = error_db()
        on_progress(f"{worst} keeps float activations: {reached:.1f} dB")
    return Selection(bits, asked, tuple(reverted), reached, run.scheme.observer)


def rank_layers(
    network: nn.Module,
    calibration: Calibration,
    inputs: Mapping[str, Tensor],
    options: QuantizeOptions,
    bits: Mapping[str, LayerBits],
) -> list[str]:
    """List the integer layers, the one whose activations cost most error a multiply-accumulate first."""
    rounded = {name: record for name, record in calibration.layers.items() if bits[name].activations}
    if not rounded:
        return []
    number = max(bits[name].activations or 0 for name in rounded)
    only = Calibration(rounded, calibration.num_samples)
    table = measure_sensitivity(
        network, only, inputs, bits=(number,), parts=("activations",), options=options
    )
    costs = {row.layer: row.mean_square / max(1, rounded[row.layer].macs) for row in table.rows}
    return sorted(rounded, key=lambda name: -costs[name])
