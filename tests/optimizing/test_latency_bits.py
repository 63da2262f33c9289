from collections.abc import Mapping
from dataclasses import replace

import pytest

from gantune.errors import UsageError
from gantune.optimizing.latency_bits import keep_float_within_latency
from gantune.optimizing.quantization_candidates import Prepared, draw_selection_inputs
from gantune.optimizing.quantization_options import QuantizationRun
from gantune.optimizing.revert import Selection, rank_layers
from gantune.transforms import freeze
from gantune.transforms.quantize import LayerBits, calibrate, choose_bits
from transform_samples import build_small


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    network = freeze(build_small("srvgg"))
    return Prepared(network, calibrate(network, [network.sample_inputs(4, seed) for seed in (0, 1)]))


def choose(prepared: Prepared, budget_ms: float) -> tuple[Selection, list[str], list[float]]:
    """Let each layer in float cost 10 ms more than 5 ms; return what was chosen, the ranking, the trials."""
    run = QuantizationRun(max_latency_ms=budget_ms)
    inputs = draw_selection_inputs(prepared.network, replace(run, image_size=16))
    asked = choose_bits(prepared.calibration, run.scheme)
    ranked = rank_layers(prepared.network, prepared.calibration, inputs, run.scheme, asked)
    trials: list[float] = []

    def measure(bits: Mapping[str, LayerBits]) -> float:
        trials.append(5.0 + 10 * sum(bits[name].activations is None for name in ranked))
        return trials[-1]

    return keep_float_within_latency(prepared, inputs, run, measure), ranked, trials


@pytest.mark.parametrize("count", [0, 1])
def test_the_costliest_layers_stay_in_float_as_far_as_time_allows(prepared: Prepared, count: int) -> None:
    selection, ranked, trials = choose(prepared, 5.0 + 10 * count + 4)
    assert len(ranked) > 1
    assert list(selection.reverted) == ranked[:count]
    assert all(selection.bits[name].activations is None for name in ranked[:count])
    assert all(selection.bits[name].activations == 8 for name in ranked[count:])
    assert len(trials) <= 2 + len(ranked).bit_length()


def test_one_layer_is_rounded_however_long_it_may_take(prepared: Prepared) -> None:
    selection, ranked, _ = choose(prepared, 1e6)
    assert list(selection.reverted) == ranked[:-1]


def test_a_budget_below_all_integers_is_refused(prepared: Prepared) -> None:
    with pytest.raises(UsageError, match=r"4 ms is an impossible budget here.*takes 5\.0 ms"):
        choose(prepared, 4.0)
