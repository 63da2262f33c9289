"""What quantization is asked for: the engine's scheme, the observer, and the bits of each layer."""

from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Literal

from gantune.errors import UsageError
from gantune.transforms.quantize.calibration import Calibration
from gantune.transforms.quantize.layers import Kind
from gantune.transforms.quantize.observers import Observer
from gantune.transforms.quantize.scheme import Granularity, Symmetry
from gantune.transforms.quantize.weights import Clipping

EngineName = Literal["openvino", "onnxruntime"]


@dataclass(frozen=True)
class LayerBits:
    """The bits of a layer's weights and of its input; None is float32.

    Weights alone are stored in these bits, and computed with in float.
    """

    weights: int | None = 8
    activations: int | None = 8


FLOAT = LayerBits(None, None)
WEIGHTS_ONLY = LayerBits(8, None)


@dataclass(frozen=True, kw_only=True)
class EngineScheme:
    """What one engine has integer kernels for.

    `rounds_outputs`: its convolutions give integers back, so their outputs are rounded too. `kinds` lists
    the layers it can compute with integers; those in `without_zero_point` only where the zero point of their
    input is 0, else the engine runs them in float.
    """

    engine: EngineName
    activations: Symmetry
    without_zero_point: tuple[Kind, ...] = ()
    kinds: tuple[Kind, ...]
    rounds_outputs: bool


ENGINE_SCHEMES: dict[EngineName, EngineScheme] = {
    "openvino": EngineScheme(
        engine="openvino",
        activations="asymmetric",
        without_zero_point=("transposed",),
        kinds=("convolution", "transposed", "linear"),
        rounds_outputs=False,
    ),
    "onnxruntime": EngineScheme(
        engine="onnxruntime",
        activations="asymmetric",
        kinds=("convolution", "linear"),
        rounds_outputs=True,
    ),
}


@dataclass(frozen=True, kw_only=True)
class QuantizeOptions:
    """Choose the scheme; `bits` names layers that differ from the default choice (see `choose_bits`)."""

    engine: EngineName = "openvino"
    weight_bits: int = 8
    activation_bits: int | None = 8
    weights: Granularity = "per_channel"
    clipping: Clipping = "mse"
    activations: Symmetry | None = None
    observer: Observer = "mse"
    is_bias_corrected: bool = True
    bits: dict[str, LayerBits] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.engine not in ENGINE_SCHEMES:
            known = ", ".join(ENGINE_SCHEMES)
            raise UsageError(f"There is no integer scheme for {self.engine!r}; there are: {known}.")

    @property
    def scheme(self) -> EngineScheme:
        """Give the engine's scheme."""
        return ENGINE_SCHEMES[self.engine]

    def choose_symmetry(self, kind: Kind, low: float) -> Symmetry:
        """Choose the symmetry of a layer's input whose smallest value is `low`.

        From 0 on, unsigned integers have zero point 0 anyway, and twice the steps of signed ones.
        """
        needs_zero = kind in self.scheme.without_zero_point and low < 0
        return self.activations or ("symmetric" if needs_zero else self.scheme.activations)


def choose_bits(calibration: Calibration, options: QuantizeOptions) -> dict[str, LayerBits]:
    """Give every layer its bits.

    Computed with integers: what the engine can, except the first and the last convolution and, where
    convolutions do most of the work, linear layers (mapping, style affines). Those keep float activations and
    store 8-bit weights. Then come the layers that `options.bits` names; raise `UsageError` for unknown ones.
    """
    records = calibration.layers
    for name in options.bits:
        if name not in records:
            near = get_close_matches(name, records, n=3, cutoff=0.3) or list(records)[:3]
            raise UsageError(f"There is no layer {name!r} to quantize; near names are: {', '.join(near)}.")
    high = find_high_layers(calibration)
    usual = LayerBits(options.weight_bits, options.activation_bits)
    chosen = {
        name: usual if record.kind in options.scheme.kinds and name not in high else WEIGHTS_ONLY
        for name, record in records.items()
    }
    return chosen | options.bits


def find_high_layers(calibration: Calibration) -> set[str]:
    """Name the layers kept in high precision: first and last convolution, and linear layers beside them."""
    records = calibration.layers
    convolutions = [name for name, record in records.items() if record.kind != "linear"]
    macs = sum(record.macs for record in records.values())
    if 2 * sum(records[name].macs for name in convolutions) < macs:
        return set()
    linear = {name for name, record in records.items() if record.kind == "linear"}
    ends = {convolutions[0], convolutions[-1]} if len(convolutions) > 2 else set()
    return linear | ends
