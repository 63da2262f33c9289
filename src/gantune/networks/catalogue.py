"""The families of networks: a new one is one file and one line in `FAMILIES`."""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Literal

import torch
from torch import nn

from gantune.errors import UnsupportedError, UsageError
from gantune.networks.biggan import BigGANGenerator
from gantune.networks.biggan_deep import BigGANDeepGenerator
from gantune.networks.biggan_discriminator import BigGANDiscriminator
from gantune.networks.contract import Config
from gantune.networks.cyclegan import CycleGANGenerator
from gantune.networks.dcgan import DCGANGenerator
from gantune.networks.dcgan_discriminator import DCGANDiscriminator
from gantune.networks.rrdb import RRDBGenerator
from gantune.networks.srvgg import SRVGGGenerator
from gantune.networks.stylegan2 import StyleGAN2Generator
from gantune.networks.stylegan2_discriminator import StyleGAN2Discriminator
from gantune.networks.stylegan3 import StyleGAN3Generator

Role = Literal["generator", "discriminator"]


@dataclass(frozen=True)
class Family:
    """Name a family and its modules; `discriminator` is None where gantune has none for it."""

    name: str
    generator: Callable[..., nn.Module]
    discriminator: Callable[..., nn.Module] | None = None


FAMILIES: tuple[Family, ...] = (
    Family("stylegan2", StyleGAN2Generator, StyleGAN2Discriminator),
    # StyleGAN3 is trained against the discriminator of StyleGAN2.
    Family("stylegan3", StyleGAN3Generator, StyleGAN2Discriminator),
    Family("biggan", BigGANGenerator, BigGANDiscriminator),
    Family("biggan_deep", BigGANDeepGenerator),
    Family("dcgan", DCGANGenerator, DCGANDiscriminator),
    Family("srvgg", SRVGGGenerator),
    Family("rrdb", RRDBGenerator),
    Family("cyclegan", CycleGANGenerator),
)


def find_family(name: str) -> Family:
    """Return the family called `name`; raise `UnsupportedError` where there is none."""
    for family in FAMILIES:
        if family.name == name:
            return family
    known = ", ".join(family.name for family in FAMILIES)
    raise UnsupportedError(f"There is no network family {name!r}; the families are: {known}.")


def build_network(family: str, config: Config, *, role: Role = "generator") -> nn.Module:
    """Build a network with random weights: eval mode, float32, on the CPU, as the contract says.

    Raise `UnsupportedError` for an unknown family or a role it lacks, `UsageError` for a wrong key.
    """
    entry = find_family(family)
    build = entry.generator if role == "generator" else entry.discriminator
    if build is None:
        raise UnsupportedError(f"The family {family!r} has no {role} here; it has a generator only.")
    try:
        signature(build).bind(**config)
    except TypeError as error:
        allowed = ", ".join(signature(build).parameters)
        raise UsageError(
            f"The configuration of a {family} {role} does not fit: {error}; it takes: {allowed}."
        ) from error
    with torch.device("cpu"):
        return build(**config).eval().requires_grad_(False)
