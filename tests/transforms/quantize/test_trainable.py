import pytest
import torch
from torch import nn

from gantune.errors import UnsupportedError
from gantune.transforms import resampling
from gantune.transforms.quantize import (
    FakeQuantize,
    LayerBits,
    QuantizeOptions,
    calibrate,
    make_trainable,
    put_on_grids,
    quantize,
)
from gantune.transforms.quantize.trainable import find_weight_grid, stored_weight
from transform_samples import prepare, run

W4A4 = QuantizeOptions(weight_bits=4, activation_bits=4)


def rounded_pair(name: str) -> tuple[nn.Module, nn.Module]:
    source = prepare(name)
    source = resampling(source, "subpixel") if name == "stylegan2" else source
    calibration = calibrate(source, [source.sample_inputs(4, seed) for seed in (0, 1)])
    return source, quantize(source, calibration, W4A4)


@pytest.mark.parametrize("learns_steps", [False, True])
@pytest.mark.parametrize("name", ["stylegan2", "dcgan", "biggan"])
def test_a_trainable_network_begins_and_ends_as_the_rounded_one(name: str, learns_steps: bool) -> None:
    source, rounded = rounded_pair(name)
    trainable = make_trainable(rounded, source, learns_steps=learns_steps)
    assert torch.equal(run(trainable), run(rounded))
    finished = put_on_grids(trainable)
    assert torch.equal(run(finished), run(rounded))
    assert finished.state_dict().keys() == rounded.state_dict().keys()


@pytest.mark.parametrize("name", ["stylegan2", "dcgan"])
def test_every_weight_and_step_gets_a_gradient(name: str) -> None:
    source, rounded = rounded_pair(name)
    trainable = make_trainable(rounded, source, learns_steps=True).requires_grad_(True)
    inputs = trainable.sample_inputs(4, 1)
    images = trainable(**inputs)
    weights = torch.randn(images.shape, generator=torch.Generator().manual_seed(0))
    (images * weights).sum().backward()
    without = [
        key
        for key, parameter in trainable.named_parameters()
        if parameter.grad is None or not bool(parameter.grad.any())
    ]
    assert without == []


def test_weights_moved_in_training_end_on_their_grids() -> None:
    source, rounded = rounded_pair("dcgan")
    trainable = make_trainable(rounded, source)
    with torch.no_grad():
        for parameter in trainable.parameters():
            parameter.mul_(1.3)
    finished = put_on_grids(trainable)
    assert torch.equal(run(finished), run(trainable))
    assert not torch.equal(run(finished), run(rounded))
    grids = [(module, find_weight_grid(module)) for module in finished.modules()]
    found = [(module, grid) for module, grid in grids if grid is not None]
    assert found
    for module, grid in found:
        weight = stored_weight(module)
        assert torch.equal(grid(weight), weight)
        assert not weight.requires_grad


def test_the_rounded_network_is_untouched() -> None:
    source, rounded = rounded_pair("dcgan")
    before = {name: tensor.clone() for name, tensor in rounded.state_dict().items()}
    trainable = make_trainable(rounded, source, learns_steps=True)
    for parameter in trainable.parameters():
        parameter.data.zero_()
    assert all(torch.equal(tensor, before[name]) for name, tensor in rounded.state_dict().items())
    assert not any(module.learns_step for module in rounded.modules() if isinstance(module, FakeQuantize))


def test_weights_of_one_bit_are_refused() -> None:
    source = prepare("dcgan")
    calibration = calibrate(source, [source.sample_inputs(8, 0)])
    bits = dict.fromkeys(calibration.layers, LayerBits(1, None))
    rounded = quantize(source, calibration, QuantizeOptions(bits=bits))
    with pytest.raises(UnsupportedError, match="weights of 1 bit; training goes down to 2 bits"):
        make_trainable(rounded, source)
