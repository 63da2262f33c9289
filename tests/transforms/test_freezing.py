import pytest
import torch
from torch import nn

from gantune.networks.catalogue import build_network
from gantune.networks.equalized import EqualizedLinear
from gantune.networks.spectral_norm import SpectralConv2d
from gantune.transforms import freeze
from stylegan_golden import NAMES, STYLEGAN2_NAMES, load_golden
from transform_samples import EXACT, SMALL_NAMES, build_small, original, relative_error, run


@pytest.mark.parametrize("name", NAMES)
def test_a_frozen_golden_network_gives_the_authors_numbers(name: str) -> None:
    golden = load_golden(name)
    frozen = freeze(golden.generator)
    with torch.inference_mode():
        ws = frozen.mapping(golden.numbers["z"], golden.labels)
        image = frozen.synthesis(golden.numbers["ws"], noise_mode="const")
    assert relative_error(ws, golden.numbers["ws"]) <= EXACT
    assert relative_error(image, golden.numbers["img_const"]) <= EXACT


@pytest.mark.parametrize("name", STYLEGAN2_NAMES)
def test_freezing_keeps_the_noise_modes(name: str) -> None:
    golden = load_golden(name)
    with torch.inference_mode():
        image = freeze(golden.generator).synthesis(golden.numbers["ws"], noise_mode="none")
    assert relative_error(image, golden.numbers["img_none"]) <= EXACT


@pytest.mark.parametrize("family", SMALL_NAMES)
def test_freezing_is_exact_for_every_family(family: str) -> None:
    network = build_small(family)
    assert relative_error(run(freeze(network)), run(network)) <= EXACT


@pytest.mark.parametrize("name", [*NAMES, *SMALL_NAMES])
def test_freezing_leaves_the_original_untouched(name: str) -> None:
    network = original(name)
    before = {key: tensor.clone() for key, tensor in network.state_dict().items()}
    freeze(network)
    assert all(torch.equal(tensor, before[key]) for key, tensor in network.state_dict().items())


@pytest.mark.parametrize("name", [*NAMES, *SMALL_NAMES])
def test_a_frozen_network_keeps_the_contract(name: str) -> None:
    network, frozen = original(name), freeze(original(name))
    assert (frozen.family, frozen.inputs, frozen.output) == (network.family, network.inputs, network.output)
    assert not frozen.training
    assert not any(parameter.requires_grad for parameter in frozen.parameters())


def test_freezing_removes_what_is_computed_from_constants() -> None:
    for name in ("stylegan2-resnet-32", "stylegan3-t-32", "biggan"):
        kinds = {type(module) for module in freeze(original(name)).modules()}
        assert not kinds & {EqualizedLinear, SpectralConv2d}


def test_norms_and_dropouts_behind_convolutions_are_folded() -> None:
    torch.manual_seed(0)
    config = {"num_feat": 4, "num_block": 1, "norm": "batch", "dropout": True}
    network = build_network("cyclegan", config)
    for name, tensor in network.state_dict().items():
        if "running" in name:
            tensor.copy_(torch.rand_like(tensor) + 0.5)
    frozen = freeze(network)
    assert relative_error(run(frozen), run(network)) <= EXACT
    assert not any(isinstance(module, nn.BatchNorm2d | nn.Dropout) for module in frozen.modules())


def test_a_bias_that_an_instance_norm_takes_out_again_is_dropped() -> None:
    frozen = freeze(build_small("cyclegan"))
    biases = [m.bias is not None for m in frozen.modules() if isinstance(m, nn.Conv2d | nn.ConvTranspose2d)]
    assert biases == [False] * (len(biases) - 1) + [True]
