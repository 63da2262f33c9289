"""The networks that play against each other, and the generator's average."""

import copy
from dataclasses import dataclass

import torch
from torch import nn

from gantune.networks.catalogue import build_network
from gantune.networks.contract import Config
from gantune.networks.stylegan3 import StyleGAN3Generator
from gantune.training.options import NetworkShape


@dataclass(frozen=True)
class ImageShape:
    """What the networks must fit: resolution, channels, and the width of a label (0: none)."""

    resolution: int
    channels: int
    label_dim: int


@dataclass(frozen=True)
class Players:
    """The generator, the discriminator, and the average of the generator that is shipped."""

    generator: nn.Module
    discriminator: nn.Module
    average: nn.Module


def build_players(shape: NetworkShape, images: ImageShape, *, seed: int, device: str = "cpu") -> Players:
    """Build all three with weights drawn from `seed`; raise `UsageError` for an impossible shape."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        generator = build_network(_family(shape), _generator_config(shape, images))
        discriminator = build_network(
            _family(shape), _discriminator_config(shape, images), role="discriminator"
        )
    average = copy.deepcopy(generator)
    generator.train().to(device)
    discriminator.train().to(device)
    return Players(generator, discriminator, average.to(device))


def has_path_lengths(network: nn.Module) -> bool:
    """Say whether path length regularization belongs to this generator: it does not to StyleGAN3."""
    return not isinstance(network, StyleGAN3Generator)


def _family(shape: NetworkShape) -> str:
    return "stylegan2" if shape.cfg == "stylegan2" else "stylegan3"


def _generator_config(shape: NetworkShape, images: ImageShape) -> Config:
    is_style2, is_radial = shape.cfg == "stylegan2", shape.cfg == "stylegan3-r"
    config: Config = {
        "z_dim": shape.latent_dim,
        "c_dim": images.label_dim,
        "w_dim": shape.latent_dim,
        "img_resolution": images.resolution,
        "img_channels": images.channels,
        # The authors double the widths of R, whose 1×1 convolutions are cheap.
        "channel_base": shape.channel_base * (2 if is_radial else 1),
        "channel_max": shape.channel_max * (2 if is_radial else 1),
        "mapping_kwargs": {"num_layers": shape.map_depth or (8 if is_style2 else 2)},
    }
    if is_radial:
        config |= {"conv_kernel": 1, "use_radial_filters": True}
    return config


def _discriminator_config(shape: NetworkShape, images: ImageShape) -> Config:
    return {
        "c_dim": images.label_dim,
        "img_resolution": images.resolution,
        "img_channels": images.channels,
        "channel_base": shape.discriminator_channel_base or shape.channel_base,
        "channel_max": shape.channel_max,
        "epilogue_kwargs": {"mbstd_group_size": shape.mbstd_group},
    }
