import pytest
import torch

from gantune.errors import UnsupportedError
from gantune.networks.stylegan2_synthesis import ModulatedLayer
from gantune.transforms import freeze, static_modulation
from stylegan_golden import NAMES, load_golden
from transform_samples import EXACT, build_small, original, relative_error, run


@pytest.mark.parametrize("is_frozen", [False, True], ids=["as loaded", "frozen"])
@pytest.mark.parametrize("name", NAMES)
def test_constant_weights_give_the_authors_numbers(name: str, is_frozen: bool) -> None:
    golden = load_golden(name)
    network = static_modulation(freeze(golden.generator) if is_frozen else golden.generator)
    with torch.inference_mode():
        image = network.synthesis(golden.numbers["ws"], noise_mode="const")
        unnoised = network.synthesis(golden.numbers["ws"], noise_mode="none")
        truncated = network.synthesis(network.mapping(golden.numbers["z"], golden.labels, truncation_psi=0.7))
    assert relative_error(image, golden.numbers["img_const"]) <= EXACT
    assert relative_error(unnoised, golden.numbers.get("img_none", golden.numbers["img_const"])) <= EXACT
    assert relative_error(truncated, golden.numbers["img_psi07_const"]) <= EXACT


def test_given_noise_takes_the_place_of_the_stored_one() -> None:
    network = original("stylegan2-uncond-32")
    ws = load_golden("stylegan2-uncond-32").numbers["ws"]
    noise = {
        layer: torch.randn(len(ws), 1, *shape[2:])
        for layer, shape in network.synthesis.noise_shapes().items()
    }
    with torch.inference_mode():
        found = static_modulation(network).synthesis(ws, noise=noise)
        assert relative_error(found, network.synthesis(ws, noise=noise)) <= EXACT
        assert not torch.equal(found, network.synthesis(ws))


def test_random_noise_differs_from_call_to_call() -> None:
    network = static_modulation(build_small("stylegan2"))
    inputs = network.sample_inputs(1, 0)
    assert not torch.equal(network(**inputs, noise_mode="random"), network(**inputs, noise_mode="random"))


def test_the_original_is_untouched() -> None:
    network = original("stylegan2-uncond-32")
    before = run(network)
    static_modulation(network)
    assert any(isinstance(module, ModulatedLayer) for module in network.modules())
    assert torch.equal(run(network), before)


def test_a_network_without_modulation_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="srvgg network has no modulated convolutions"):
        static_modulation(build_small("srvgg"))


@pytest.mark.parametrize("activation", ["linear", "relu", "swish"])
def test_other_activations_are_exact(activation: str) -> None:
    from gantune.networks.catalogue import build_network
    from network_samples import SMALL_GENERATORS

    torch.manual_seed(3)
    config = SMALL_GENERATORS["stylegan2"] | {
        "activation": activation,
        "conv_clamp": 0.5,
        "architecture": "orig",
    }
    network = build_network("stylegan2", config)
    assert relative_error(run(static_modulation(freeze(network))), run(network)) <= EXACT
