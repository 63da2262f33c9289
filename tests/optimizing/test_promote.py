import pytest
import torch
from torch import nn

from gantune.optimizing.promote import promote_high_layers
from gantune.optimizing.quantization_options import QuantizationRun
from gantune.optimizing.revert import MARGIN_DB, Selection, revert_worst_layers
from gantune.transforms.quantize import Calibration, calibrate
from quantize_samples import OneLayer


class Chain(OneLayer):
    """Four convolutions, of which the default keeps the first and the last in float."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        layers = [nn.Conv2d(8, 8, 3, padding=1) for _ in range(3)] + [nn.Conv2d(8, 3, 3, padding=1)]
        super().__init__(nn.Sequential(*layers), (8, 12, 12))


Case = tuple[Chain, Calibration, dict[str, torch.Tensor]]


@pytest.fixture(scope="module")
def chain() -> Case:
    network = Chain()
    calibration = calibrate(network, [network.sample_inputs(8, seed) for seed in (0, 1)])
    return network, calibration, network.sample_inputs(4, seed=5)


def select(case: Case, run: QuantizationRun) -> Selection:
    return revert_worst_layers(*case, run)


def test_high_layers_become_integers_where_the_gate_bears_it(chain: Case) -> None:
    run = QuantizationRun(min_db=20.0)
    selection = select(chain, run)
    assert selection.bits["layer.0"].activations is None
    promoted = promote_high_layers(*chain, run, selection)
    assert promoted is not None
    assert all(bits.activations == 8 for bits in promoted.bits.values())
    assert 20.0 + MARGIN_DB <= promoted.error_db < selection.error_db


def test_a_layer_that_would_break_the_gate_stays_in_float(chain: Case) -> None:
    loose = QuantizationRun(min_db=20.0)
    before, after = select(chain, loose), promote_high_layers(*chain, loose, select(chain, loose))
    assert after is not None
    between = QuantizationRun(min_db=(before.error_db + after.error_db) / 2 - MARGIN_DB)
    selection = select(chain, between)
    promoted = promote_high_layers(*chain, between, selection)
    kept = selection if promoted is None else promoted
    assert any(bits.activations is None for bits in kept.bits.values())
    assert kept.error_db >= between.min_db + MARGIN_DB


def test_reverted_layers_are_not_promoted(chain: Case) -> None:
    run = QuantizationRun(min_db=100.0)
    selection = select(chain, run)
    assert selection.reverted
    assert promote_high_layers(*chain, run, selection) is None
