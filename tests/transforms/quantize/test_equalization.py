import pytest
import torch
from torch import nn

from gantune.errors import UsageError
from gantune.transforms import resampling
from gantune.transforms.quantize import Calibration, LayerBits, QuantizeOptions, calibrate, quantize
from gantune.transforms.quantize.equalization import equalize
from transform_samples import EXACT, prepare, relative_error, run


def calibrated(network: nn.Module) -> Calibration:
    return calibrate(network, [network.sample_inputs(8, seed) for seed in (0, 1)])


@pytest.mark.parametrize("form", ["transposed", "subpixel"])
def test_an_equalized_network_is_the_same_one(form: str) -> None:
    network = resampling(prepare("stylegan2"), form)
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    equal = equalize(network, calibrated(network))
    assert relative_error(run(equal), run(network)) < EXACT
    assert all(torch.equal(tensor, before[name]) for name, tensor in network.state_dict().items())
    changed = [name for name, tensor in equal.state_dict().items() if not torch.equal(tensor, before[name])]
    assert any(name.endswith("conv0.convolution.weight") for name in changed)
    assert any(name.endswith("conv1.convolution.weight") for name in changed)


def spread(calibration: Calibration) -> float:
    records = [r for name, r in calibration.layers.items() if name.endswith(".convolution")]
    return max(float(record.channel_peaks.max() / record.channel_peaks.min()) for record in records)


def test_full_strength_makes_every_channel_as_wide() -> None:
    network = prepare("stylegan2")
    calibration = calibrated(network)
    assert spread(calibration) > 1.5
    assert spread(calibrated(equalize(network, calibration, strength=1.0))) == pytest.approx(1, rel=1e-3)


def test_a_channel_that_is_much_wider_costs_less_when_it_is_evened_out() -> None:
    network = equalize(prepare("stylegan2"), calibrated(prepare("stylegan2")), strength=1.0)
    layer = network.get_submodule("synthesis.b16.conv1")
    with torch.no_grad():
        layer.affine.weight[0] *= 30
        layer.affine.bias[0] *= 30
        layer.convolution.weight[:, 0] /= 30
        layer.weight_square[0] /= 900

    def error(candidate: nn.Module) -> float:
        calibration = calibrated(candidate)
        bits = dict.fromkeys(calibration.layers, LayerBits(8, 8))
        return relative_error(run(quantize(candidate, calibration, QuantizeOptions(bits=bits))), run(network))

    assert error(equalize(network, calibrated(network))) < 0.5 * error(network)


def test_an_impossible_strength_is_refused() -> None:
    with pytest.raises(UsageError, match="strength of equalization is 2"):
        equalize(prepare("stylegan2"), Calibration({}, 8), strength=2)
