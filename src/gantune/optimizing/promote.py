"""Let the layers that are kept high by default compute with integers too, where the gate bears it.

The first and the last convolution usually cost the most quality and little time; in a small network they take
their share of the time, and whether that is worth it is measured.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from torch import Tensor, nn

from gantune.optimizing.quantization_options import QuantizationRun
from gantune.optimizing.revert import MARGIN_DB, Selection, error_of_bits
from gantune.optimizing.sensitivity import run_network
from gantune.transforms.quantize import Calibration, LayerBits


def promote_high_layers(
    network: nn.Module,
    calibration: Calibration,
    inputs: Mapping[str, Tensor],
    run: QuantizationRun,
    selection: Selection,
    *,
    on_progress: Callable[[str], None] = lambda _: None,
) -> Selection | None:
    """Give convolutions that the default leaves in float integers, the most work first, while the gate holds.

    Layers that were reverted for the gate's sake stay as they are. None where no layer was promoted.
    """
    tried_run = replace(run, scheme=replace(run.scheme, observer=selection.observer))
    expected = run_network(network, inputs)
    bits, reached = dict(selection.bits), selection.error_db
    promoted = []
    for name in _list_high_layers(calibration, run, selection):
        tried = bits | {name: LayerBits(bits[name].weights, run.scheme.activation_bits)}
        error = error_of_bits(network, calibration, tried, inputs, expected, tried_run)
        on_progress(f"{name} with integers: {error:.1f} dB")
        if error >= run.min_db + MARGIN_DB:
            bits, reached = tried, error
            promoted.append(name)
    if not promoted:
        return None
    return replace(selection, bits=bits, asked=bits, error_db=reached)


def _list_high_layers(calibration: Calibration, run: QuantizationRun, selection: Selection) -> list[str]:
    records = calibration.layers
    high = [
        name
        for name, bits in selection.bits.items()
        if bits.activations is None
        and bits.weights is not None
        and name not in selection.reverted
        and records[name].kind != "linear"
        and records[name].kind in run.scheme.scheme.kinds
    ]
    return sorted(high, key=lambda name: -records[name].macs)
