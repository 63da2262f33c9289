"""From the shape that a recipe asks for to the configurations of its generator and discriminator."""

from collections.abc import Callable
from dataclasses import dataclass

from gantune.errors import UsageError
from gantune.networks.contract import Config
from gantune.training.options import Configuration, NetworkShape

SMALLEST = 4


@dataclass(frozen=True)
class ImageShape:
    """What the networks must fit: resolution, channels, and the width of a label (0: none)."""

    resolution: int
    channels: int
    label_dim: int


@dataclass(frozen=True)
class Plan:
    """The family of both networks and what each is built from."""

    family: str
    generator: Config
    discriminator: Config


def plan_networks(shape: NetworkShape, images: ImageShape) -> Plan:
    """Return what to build; raise `UsageError` for images that the networks cannot have."""
    return _PLANS[shape.cfg](shape, images)


def _plan_stylegan2(shape: NetworkShape, images: ImageShape) -> Plan:
    generator = _style_generator(shape, images, map_depth=8)
    return Plan("stylegan2", generator, _style_discriminator(shape, images))


def _plan_stylegan3_t(shape: NetworkShape, images: ImageShape) -> Plan:
    generator = _style_generator(shape, images, map_depth=2)
    return Plan("stylegan3", generator, _style_discriminator(shape, images))


def _plan_stylegan3_r(shape: NetworkShape, images: ImageShape) -> Plan:
    generator = _style_generator(shape, images, map_depth=2)
    # The authors double the widths of R, whose 1×1 convolutions are cheap.
    generator |= {"channel_base": shape.channel_base * 2, "channel_max": shape.channel_max * 2}
    generator |= {"conv_kernel": 1, "use_radial_filters": True}
    return Plan("stylegan3", generator, _style_discriminator(shape, images))


def _style_generator(shape: NetworkShape, images: ImageShape, *, map_depth: int) -> Config:
    return {
        "z_dim": shape.latent_dim,
        "c_dim": images.label_dim,
        "w_dim": shape.latent_dim,
        "img_resolution": images.resolution,
        "img_channels": images.channels,
        "channel_base": shape.channel_base,
        "channel_max": shape.channel_max,
        "mapping_kwargs": {"num_layers": shape.map_depth or map_depth},
    }


def _style_discriminator(shape: NetworkShape, images: ImageShape) -> Config:
    return {
        "c_dim": images.label_dim,
        "img_resolution": images.resolution,
        "img_channels": images.channels,
        "channel_base": shape.discriminator_channel_base or shape.channel_base,
        "channel_max": shape.channel_max,
        "epilogue_kwargs": {"mbstd_group_size": shape.mbstd_group},
    }


def _plan_dcgan(shape: NetworkShape, images: ImageShape) -> Plan:
    sizes = _sizes(images)
    widths = _widths(shape, sizes, shape.channel_base)
    layers: list[dict[str, object]] = [{"width": widths[0], "stride": 1, "padding": 0}]
    layers += [{"width": width} for width in widths[1:-1]]
    layers.append({"width": images.channels, "norm": False, "bias": True})
    generator: Config = {"layers": layers, "z_dim": shape.latent_dim, "num_classes": images.label_dim}
    seen = _widths(shape, sizes, shape.discriminator_channel_base or shape.channel_base)
    discriminator: Config = {
        "resolution": images.resolution,
        "widths": seen[-2::-1],
        "img_channels": images.channels,
        "num_classes": images.label_dim,
    }
    return Plan("dcgan", generator, discriminator)


def _plan_biggan(shape: NetworkShape, images: ImageShape) -> Plan:
    sizes = _sizes(images)
    num_parts = len(sizes)
    if shape.latent_dim % num_parts:
        raise UsageError(
            f"BigGAN at {images.resolution}² cuts the latent into {num_parts} equal parts; --latent-dim is "
            f"{shape.latent_dim}, give a multiple of {num_parts}."
        )
    widths = _widths(shape, sizes, shape.channel_base)
    seen = _widths(shape, sizes, shape.discriminator_channel_base or shape.channel_base)
    # Attention looks at maps of half the resolution, in both networks.
    last = len(sizes) - 2
    generator: Config = {
        "widths": widths,
        "attention_blocks": [last - 1] if last > 0 else [],
        "z_dim": shape.latent_dim,
        # BigGAN always has a class; without labels there is one.
        "num_classes": max(images.label_dim, 1),
        "img_channels": images.channels,
    }
    discriminator: Config = {
        "resolution": images.resolution,
        "widths": [*seen[-2::-1], seen[0]],
        "attention_blocks": [0] if last > 0 else [],
        "img_channels": images.channels,
        "num_classes": images.label_dim,
    }
    return Plan("biggan", generator, discriminator)


def _sizes(images: ImageShape) -> list[int]:
    """List the resolutions from 4 to that of the images."""
    R = images.resolution
    if R < 2 * SMALLEST or R & (R - 1):
        raise UsageError(
            f"The images are {R}²; these networks make powers of two from {2 * SMALLEST} on: resize the data."
        )
    return [2**power for power in range(2, R.bit_length())]


def _widths(shape: NetworkShape, sizes: list[int], channel_base: int) -> list[int]:
    return [min(channel_base // size, shape.channel_max) for size in sizes]


_PLANS: dict[Configuration, Callable[[NetworkShape, ImageShape], Plan]] = {
    "stylegan2": _plan_stylegan2,
    "stylegan3-t": _plan_stylegan3_t,
    "stylegan3-r": _plan_stylegan3_r,
    "dcgan": _plan_dcgan,
    "biggan": _plan_biggan,
}
