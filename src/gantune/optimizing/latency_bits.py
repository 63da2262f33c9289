"""A latency budget for integers: as many layers stay in float as the measured time allows.

Layers do not add up their times as they add up their errors (an engine converts between neighbors, and joins
some), so the time is measured, of the whole network, and bisected over the layers in the order of what their
rounding costs.
"""

from collections.abc import Callable, Mapping, Sequence

from torch import Tensor

from gantune.errors import UsageError
from gantune.optimizing.quantization_candidates import Prepared
from gantune.optimizing.quantization_options import QuantizationRun
from gantune.optimizing.revert import Selection, error_of_bits, rank_layers
from gantune.optimizing.sensitivity import run_network
from gantune.transforms.quantize import WEIGHTS_ONLY, LayerBits, choose_bits

Measure = Callable[[Mapping[str, LayerBits]], float]


def keep_float_within_latency(
    prepared: Prepared,
    inputs: Mapping[str, Tensor],
    run: QuantizationRun,
    measure_ms: Measure,
    *,
    on_progress: Callable[[str], None] = lambda _: None,
) -> Selection:
    """Revert the layers whose rounding costs most for their multiply-accumulates, within the time allowed.

    `measure_ms` builds the network with the bits of each layer and times it, in milliseconds for one sample.
    At least one layer is rounded. Raise `UsageError` where all layers as integers take longer than
    `run.max_latency_ms`.
    """
    budget_ms = run.max_latency_ms
    assert budget_ms is not None
    asked = choose_bits(prepared.calibration, run.scheme)
    ranked = rank_layers(prepared.network, prepared.calibration, inputs, run.scheme, asked)

    def fits(count: int) -> bool:
        took = measure_ms(_revert(asked, ranked[:count]))
        on_progress(f"{len(ranked) - count} of {len(ranked)} layers as integers: {took:.1f} ms")
        if count == 0 and took > budget_ms:
            raise UsageError(
                f"{budget_ms:g} ms is an impossible budget here: with all {len(ranked)} layers as "
                f"integers {run.scheme.engine} takes {took:.1f} ms. Allow more, or choose another engine."
            )
        return took <= budget_ms

    reverted = ranked[: _find_most(fits, len(ranked) - 1)]
    bits = _revert(asked, reverted)
    expected = run_network(prepared.network, inputs)
    error = error_of_bits(prepared.network, prepared.calibration, bits, inputs, expected, run)
    return Selection(bits, asked, tuple(reverted), error, run.scheme.observer)


def _revert(bits: Mapping[str, LayerBits], layers: Sequence[str]) -> dict[str, LayerBits]:
    return {**bits, **dict.fromkeys(layers, WEIGHTS_ONLY)}


def _find_most(fits: Callable[[int], bool], most: int) -> int:
    """Return the largest count up to `most` that fits, where fewer fit too; 0 is tried first, and must."""
    fits(0)
    low, high = 0, max(most, 0)
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low
