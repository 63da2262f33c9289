"""The networks that play against each other, and the generator's average."""

import copy
from dataclasses import dataclass

import torch
from torch import nn

from gantune.networks.catalogue import build_network
from gantune.networks.contract import StyleNetwork
from gantune.networks.stylegan3 import StyleGAN3Generator
from gantune.training.options import NetworkShape
from gantune.training.shapes import ImageShape, plan_networks

_PLAIN_DEVIATION = 0.02


@dataclass(frozen=True)
class Players:
    """The generator, the discriminator, and the average of the generator that is shipped."""

    generator: nn.Module
    discriminator: nn.Module
    average: nn.Module


def build_players(shape: NetworkShape, images: ImageShape, *, seed: int, device: str = "cpu") -> Players:
    """Build all three with weights drawn from `seed`; raise `UsageError` for an impossible shape."""
    plan = plan_networks(shape, images)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        generator = build_network(plan.family, plan.generator)
        discriminator = build_network(plan.family, plan.discriminator, role="discriminator")
        for network in (generator, discriminator):
            _draw_weights(network, plan.family)
    average = copy.deepcopy(generator)
    generator.train().to(device)
    discriminator.train().to(device)
    return Players(generator, discriminator, average.to(device))


def has_path_lengths(network: nn.Module) -> bool:
    """Say whether path length regularization belongs to this generator: it needs a w; StyleGAN3 has none."""
    return isinstance(network, StyleNetwork) and not isinstance(network, StyleGAN3Generator)


@torch.no_grad()
def _draw_weights(network: nn.Module, family: str) -> None:
    """Draw the first weights as the family's paper does; style networks are built with theirs."""
    for module in network.modules():
        if family == "dcgan" and isinstance(module, nn.Conv2d | nn.ConvTranspose2d | nn.Linear):
            nn.init.normal_(module.weight, 0.0, _PLAIN_DEVIATION)
        elif family == "biggan" and isinstance(module, nn.Conv2d | nn.Linear | nn.Embedding):
            nn.init.orthogonal_(module.weight)
