import math

import pytest
import torch
from torch import nn

from gantune.errors import UnsupportedError
from gantune.networks.catalogue import build_network
from gantune.networks.contract import Config
from gantune.networks.stylegan3 import StyleGAN3Generator, calibrate_magnitudes
from gantune.quality.equivariance import EquivarianceOptions, equivariance_db

OPTIONS = EquivarianceOptions(num_samples=4)
ROTATION: Config = {"conv_kernel": 1, "use_radial_filters": True}


def alias_free(changes: Config | None = None) -> nn.Module:
    config: Config = {
        "z_dim": 16,
        "c_dim": 0,
        "w_dim": 16,
        "img_resolution": 64,
        "img_channels": 3,
        "channel_base": 512,
        "channel_max": 16,
        "num_layers": 8,
    }
    torch.manual_seed(0)
    network = build_network("stylegan3", config | (changes or {}))
    assert isinstance(network, StyleGAN3Generator)
    calibrate_magnitudes(network, 0)
    return network


@pytest.mark.slow
def test_removing_the_filters_around_the_nonlinearity_costs_translation_ten_decibels() -> None:
    kept, _ = equivariance_db(alias_free(), "translation", OPTIONS)
    removed, _ = equivariance_db(alias_free({"filter_size": 1}), "translation", OPTIONS)
    assert kept > 50
    assert removed < kept - 10


def test_fractional_shifts_are_followed_as_well() -> None:
    assert equivariance_db(alias_free(), "fractional_translation", OPTIONS)[0] > 50


@pytest.mark.slow
def test_the_rotation_equivariant_network_exceeds_its_translation_only_twin() -> None:
    turning, _ = equivariance_db(alias_free(ROTATION), "rotation", OPTIONS)
    twin, _ = equivariance_db(alias_free(), "rotation", OPTIONS)
    assert turning > twin + 10


def test_the_users_transform_is_back_afterwards() -> None:
    network = alias_free()
    entrance = network.synthesis.input
    entrance.transform[0, 2] = 0.25
    before = entrance.transform.clone()
    value, errors = equivariance_db(network, "translation", OPTIONS)
    assert torch.equal(entrance.transform, before)
    assert value == pytest.approx(10 * math.log10(4 / (sum(errors) / 4)))


def test_networks_whose_input_cannot_be_moved_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="StyleGAN3"):
        equivariance_db(nn.Identity(), "translation")
