import pytest
import torch
from torch import nn

from gantune.transforms.quantize.bias_correction import correct_bias, mean_shift
from gantune.transforms.quantize.layers import describe_layer

MODULES = {
    "convolution": nn.Conv2d(6, 8, 3),
    "grouped": nn.Conv2d(6, 8, 3, groups=2),
    "linear": nn.Linear(6, 8),
    "transposed": nn.ConvTranspose2d(6, 8, 2, stride=2),
    "transposed_grouped": nn.ConvTranspose2d(6, 8, 2, stride=2, groups=2),
}


@pytest.mark.parametrize("name", MODULES)
def test_the_shift_is_what_a_constant_input_moves_by(name: str) -> None:
    module = MODULES[name].requires_grad_(False)
    layer = describe_layer("layer", module)
    assert layer is not None
    torch.manual_seed(0)
    means = torch.randn(6)
    x = means.expand(2, 6) if name == "linear" else means[:, None, None].expand(2, 6, 9, 9)
    error = torch.randn_like(module.weight) * 0.1
    before = module(x)
    shift = mean_shift(layer, error, means)
    module.weight += error
    after = module(x)
    dims = 0 if name == "linear" else (0, 2, 3)
    assert torch.allclose((after - before).mean(dim=dims), shift, atol=1e-5)


def test_a_layer_without_bias_gets_one() -> None:
    module = nn.Conv2d(3, 4, 1, bias=False)
    layer = describe_layer("layer", module)
    assert layer is not None
    correct_bias(layer, torch.ones_like(module.weight), torch.tensor([1.0, 2.0, 3.0]))
    assert module.bias is not None
    assert module.bias.tolist() == [-6.0] * 4
