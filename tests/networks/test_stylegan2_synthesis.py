"""StyleGAN2's synthesis: noise, architectures, clamps and refusals, checked by hand."""

import pytest
import torch

from gantune.errors import UsageError
from gantune.networks.catalogue import build_network
from network_samples import SMALL_GENERATORS


def build(**changes):
    torch.manual_seed(3)
    network = build_network("stylegan2", {**SMALL_GENERATORS["stylegan2"], "c_dim": 0, **changes})
    for name, tensor in network.state_dict().items():
        if name.endswith("noise_strength"):
            tensor.fill_(0.5)
    return network


def draw_ws(network, n=2):
    return network.mapping(torch.randn(n, 8, generator=torch.Generator().manual_seed(4)))


def test_noise_given_in_the_place_of_the_constants_gives_the_same_image():
    network = build()
    ws = draw_ws(network)
    constants = {
        name: network.get_submodule(f"synthesis.{name}").noise_const[None, None]
        for name in network.synthesis.noise_shapes()
    }
    assert list(constants) == ["b4.conv1", "b8.conv0", "b8.conv1", "b16.conv0", "b16.conv1"]
    found = network.synthesis(ws, noise_mode="none", noise=constants)
    torch.testing.assert_close(found, network.synthesis(ws, noise_mode="const"), rtol=0, atol=1e-6)


def test_noise_per_sample_is_taken():
    network = build()
    ws = draw_ws(network)
    noise = {"b16.conv1": torch.randn(2, 1, 16, 16)}
    both = network.synthesis(ws, noise=noise)
    second = network.synthesis(ws[1:], noise={"b16.conv1": noise["b16.conv1"][1:]})
    torch.testing.assert_close(both[1:], second, rtol=0, atol=1e-5)


def test_a_layer_without_given_noise_follows_the_mode():
    network = build()
    ws = draw_ws(network)
    silent = {"b16.conv1": torch.zeros(1, 1, 16, 16)}
    mixed = network.synthesis(ws, noise_mode="const", noise=silent)
    assert not torch.equal(mixed, network.synthesis(ws, noise_mode="const"))
    assert not torch.equal(mixed, network.synthesis(ws, noise_mode="none"))


def test_random_noise_differs_from_call_to_call_and_the_other_modes_do_not():
    network = build()
    ws = draw_ws(network)
    for mode, repeats in (("const", True), ("none", True), ("random", False)):
        images = [network.synthesis(ws, noise_mode=mode) for _ in range(2)]
        assert torch.equal(*images) is repeats


def test_without_use_noise_every_mode_is_none():
    network = build(use_noise=False)
    ws = draw_ws(network)
    assert network.synthesis.noise_shapes() == {}
    assert torch.equal(network.synthesis(ws, noise_mode="random"), network.synthesis(ws, noise_mode="none"))


def test_the_noise_inputs_of_an_export_are_the_layers():
    inputs = build().noise_inputs()
    assert inputs["b8.conv0"].name == "noise_b8_conv0"
    assert inputs["b8.conv0"].shape == ("N", 1, 8, 8)
    assert inputs["b8.conv0"].kind == "noise"


def test_orig_has_one_torgb_at_the_end_and_no_skip():
    network = build(architecture="orig")
    names = {name.rpartition(".")[0] for name in network.state_dict()}
    assert {name for name in names if "torgb" in name} == {
        "synthesis.b16.torgb",
        "synthesis.b16.torgb.affine",
    }
    assert not any("skip" in name for name in names)
    assert network.num_ws == 6


def test_orig_is_skip_whose_earlier_torgbs_are_silent():
    skip, orig = build(architecture="skip"), build(architecture="orig")
    orig.load_state_dict(
        {name: tensor for name, tensor in skip.state_dict().items() if name in orig.state_dict()}
    )
    for resolution in (4, 8):
        torgb = skip.get_submodule(f"synthesis.b{resolution}.torgb")
        torgb.weight.zero_()
        torgb.bias.zero_()
    ws = draw_ws(skip)
    torch.testing.assert_close(orig.synthesis(ws), skip.synthesis(ws))


def test_resnet_has_a_skip_in_every_block_but_the_first():
    names = build(architecture="resnet").state_dict()
    assert {name for name in names if name.endswith("skip.weight")} == {
        "synthesis.b8.skip.weight",
        "synthesis.b16.skip.weight",
    }


def test_each_w_reaches_its_own_layers_alone():
    network = build()
    ws = draw_ws(network)
    with torch.no_grad():
        changed = ws.clone()
        changed[:, -1] += 1
        at_8 = []
        network.synthesis.b8.register_forward_hook(lambda _, __, result: at_8.append(result[0]))
        before, after = network.synthesis(ws), network.synthesis(changed)
    assert torch.equal(*at_8)
    assert not torch.equal(before, after)


def test_the_image_of_a_clamped_network_stays_inside_the_sum_of_its_clamps():
    network = build(conv_clamp=0.01)
    image = network.synthesis(draw_ws(network) * 100)
    # Three torgb outputs, the first two through an interpolating filter of gain one.
    assert image.abs().max() <= 0.03 + 1e-6
    assert image.abs().max() > 0.01


def test_the_nested_form_of_the_arguments_is_the_flat_one():
    shape = {key: value for key, value in SMALL_GENERATORS["stylegan2"].items() if "channel" not in key}
    nested = build_network(
        "stylegan2", {**shape, "img_channels": 3, "synthesis_kwargs": {"channel_base": 128, "channel_max": 8}}
    )
    assert nested.config == build_network("stylegan2", SMALL_GENERATORS["stylegan2"]).config


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ws": torch.zeros(2, 5, 8)}, r"shape \[2, 5, 8\].*\[N, 6, 8\]"),
        ({"noise_mode": "loud"}, "'loud'.*const, none, random"),
        ({"noise": {"b9.conv1": torch.zeros(1)}}, "'b9.conv1'.*b8.conv0"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(UsageError, match=message):
        build().synthesis(**{"ws": torch.zeros(2, 6, 8), **arguments})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"img_resolution": 24}, "img_resolution.*power of two"),
        ({"architecture": "unet"}, "architecture"),
        ({"mapping_kwargs": {"num_layer": 2}}, "num_layer.*num_layers"),
        ({"synthesis_kwargs": {"w_plus": True}}, "w_plus"),
    ],
)
def test_a_wrong_configuration_is_refused(changes, message):
    with pytest.raises(UsageError, match=message):
        build(**changes)
