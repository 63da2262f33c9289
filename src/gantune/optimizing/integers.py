"""Round a candidate's network to integers: with ranges that suit it, and only where the budget bears it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias, get_args

from torch import Tensor, nn

from gantune.errors import UsageError
from gantune.networks.contract import Network
from gantune.optimizing.quantization_options import QuantizationRun
from gantune.optimizing.revert import Selection, choose_observer, revert_worst_layers
from gantune.quality.gate import ImageError
from gantune.transforms.quantize import (
    Calibration,
    EngineName,
    QuantizeOptions,
    calibrate,
    equalize,
    quantize,
)

DrawCalibration: TypeAlias = Callable[[], Iterable[Mapping[str, Tensor]]]


@dataclass(frozen=True, kw_only=True)
class IntegerRun:
    """Say what integers are calibrated on, and how near to the original the images must stay.

    Of the batches that `draw_calibration` gives, the last one chooses layers and the others set ranges.
    `min_db` None reverts no layer. `selections` remembers what was chosen for an engine and a width, since
    such candidates differ in what the other layers compute in alone.
    """

    draw_calibration: DrawCalibration
    min_db: float | None = None
    image_error: ImageError = "range"
    selections: dict[str, Selection] = field(default_factory=dict)


def round_to_integers(network: nn.Module, engine: str, run: IntegerRun | None) -> tuple[nn.Module, str]:
    """Return the network on an engine's grids, and a sentence about the layers that were reverted.

    Raise `UsageError` for an engine without integers, and where there is nothing to calibrate on.
    """
    if run is None:
        raise UsageError("Integers need inputs to calibrate on, and none were given.")
    if engine not in get_args(EngineName):
        raise UsageError(f"{engine} has no integer scheme; there are: {', '.join(get_args(EngineName))}.")
    name: EngineName = "openvino" if engine == "openvino" else "onnxruntime"
    *batches, selection_batch = run.draw_calibration()
    network, calibration = calibrate_evenly(network, lambda: batches)
    scheme = QuantizeOptions(engine=name)
    if run.min_db is None:
        return quantize(network, calibration, scheme), ""
    # Networks of one plan differ in their width alone.
    key = f"{name} {sum(tensor.numel() for tensor in network.parameters())}"
    if key not in run.selections:
        asked = QuantizationRun(scheme=scheme, min_db=run.min_db, image_error=run.image_error)
        observer = choose_observer(network, calibration, selection_batch, asked)
        asked = replace(asked, scheme=replace(scheme, observer=observer))
        run.selections[key] = revert_worst_layers(network, calibration, selection_batch, asked)
    selection = run.selections[key]
    scheme = replace(scheme, bits=dict(selection.bits), observer=selection.observer)
    return quantize(network, calibration, scheme), _describe(selection)


def calibrate_evenly(network: nn.Module, draw: DrawCalibration) -> tuple[nn.Module, Calibration]:
    """Calibrate; where the styles carry the scales, even out the channels' ranges first, which is free."""
    assert isinstance(network, Network)
    calibration = calibrate(network, draw())
    if network.family != "stylegan2":
        return network, calibration
    evened = equalize(network, calibration)
    return evened, calibrate(evened, draw())


def _describe(selection: Selection) -> str:
    if not selection.reverted:
        return ""
    return f"{len(selection.reverted)} layers keep float activations: {', '.join(selection.reverted)}"
