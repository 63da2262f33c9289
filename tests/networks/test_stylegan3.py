"""StyleGAN3: calibrated magnitudes, the user's transform, and the moving averages."""

import pytest
import torch

from gantune.errors import UsageError
from gantune.networks.catalogue import build_network
from gantune.networks.stylegan3 import calibrate_magnitudes
from network_samples import SMALL_GENERATORS

SHAPE = {**SMALL_GENERATORS["stylegan3"], "c_dim": 0, "img_resolution": 32, "channel_max": 16}


def build(**changes):
    torch.manual_seed(3)
    return build_network("stylegan3", {**SHAPE, **changes})


def test_calibration_sets_every_magnitude_to_the_mean_square_of_its_input():
    network = build()
    calibrate_magnitudes(network, seed=0)
    seen = {}
    for name in network.synthesis.layer_names:
        layer = network.get_submodule(f"synthesis.{name}")
        layer.register_forward_pre_hook(
            lambda _, args, name=name: seen.update({name: args[0].square().mean()})
        )
    network(**network.sample_inputs(2, seed=0))
    assert len(seen) == 5
    for name, magnitude in seen.items():
        torch.testing.assert_close(network.get_submodule(f"synthesis.{name}").magnitude_ema, magnitude)
    assert len({round(magnitude.item(), 6) for magnitude in seen.values()}) == 5


def test_calibrated_random_networks_give_images_inside_the_range():
    network = build(num_layers=8, num_critical=2)
    calibrate_magnitudes(network, seed=0)
    image = network(**network.sample_inputs(2, seed=1))
    assert 0.05 < image.std() < 1
    assert image.abs().max() < 3


def test_calibration_leaves_no_hook_behind():
    network = build()
    calibrate_magnitudes(network, seed=0)
    assert not any(module._forward_pre_hooks for module in network.modules())


def test_a_translation_of_whole_pixels_moves_the_image():
    network = build(img_resolution=32, conv_kernel=1)
    calibrate_magnitudes(network, seed=0)
    z = network.sample_inputs(1, seed=1)["z"]
    before = network(z)
    network.synthesis.input.transform[0, 2] = -8 / 32
    after = network(z)
    moved = after[..., 8:-4, 12:-4] - before[..., 8:-4, 4:-12]
    unmoved = after[..., 8:-4, 12:-4] - before[..., 8:-4, 12:-4]
    assert moved.abs().mean() < 0.001 * unmoved.abs().mean()


def test_moving_averages_move_when_asked_and_only_then():
    network = build(magnitude_ema_beta=0.75)
    z = network.sample_inputs(2, seed=1)["z"]
    layer = network.get_submodule(f"synthesis.{network.synthesis.layer_names[0]}")
    network(z)
    assert layer.magnitude_ema == 1
    network(z, update_emas=True)
    magnitude = network.synthesis.input(network.mapping(z)[:, 0]).square().mean()
    torch.testing.assert_close(layer.magnitude_ema, 0.75 + 0.25 * magnitude)
    assert network.mapping.w_avg.abs().max() > 0


def test_ws_of_a_wrong_shape_and_unknown_modes_are_refused():
    synthesis = build().synthesis
    with pytest.raises(UsageError, match=r"\[N, 6, 8\]"):
        synthesis(torch.zeros(1, 5, 8))
    with pytest.raises(UsageError, match="'loud'"):
        synthesis(torch.zeros(1, 6, 8), noise_mode="loud")


def test_the_configuration_r_has_radial_filters_but_for_critical_layers():
    network = build(conv_kernel=1, use_radial_filters=True)
    ranks = [buffer.ndim for name, buffer in network.named_buffers() if name.endswith("down_filter")]
    assert ranks == [2, 2, 2, 1]
