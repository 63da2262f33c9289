"""What chance decides in one phase of one step, drawn for the whole batch from (seed, step, phase) alone.

Every process and every accumulation round draws the whole batch and takes its share, so that the numbers do
not depend on how the batch is split, and a resumed run needs no state of a random generator.
"""

from collections.abc import Mapping
from math import sqrt

import torch
from torch import Tensor, nn

from gantune.errors import UnsupportedError
from gantune.networks.biggan import BigGANGenerator
from gantune.networks.contract import StyleNetwork
from gantune.networks.stylegan3 import StyleGAN3Generator
from gantune.training.dealing import Draw

NOISE = "noise."


def draw_latents(
    network: nn.Module, labels: Tensor, num_samples: int, rng: torch.Generator, *, style_mixing: float
) -> dict[str, Tensor]:
    """Draw z and a label of `labels` [K, c_dim]; for style networks a second z, its layers, and noise."""
    if not isinstance(network, StyleNetwork):
        z = torch.randn(num_samples, int(network.z_dim), generator=rng)  # type: ignore[arg-type]
        return {"z": z, "c": labels[torch.randint(len(labels), (num_samples,), generator=rng)]}
    z_dim, num_ws = network.z_dim, network.num_ws
    draw = {
        "z": torch.randn(num_samples, z_dim, generator=rng),
        "z_mixed": torch.randn(num_samples, z_dim, generator=rng),
    }
    first_mixed = torch.randint(1, num_ws, (num_samples, 1), generator=rng)
    is_mixed = torch.rand(num_samples, 1, generator=rng) < style_mixing
    draw["mixed"] = is_mixed & (torch.arange(num_ws) >= first_mixed)
    draw["c"] = labels[torch.randint(len(labels), (num_samples,), generator=rng)]
    for layer, shape in noise_shapes(network).items():
        draw[NOISE + layer] = torch.randn(num_samples, *shape[1:], generator=rng)
    return draw


def draw_directions(num_samples: int, image_shape: tuple[int, ...], rng: torch.Generator) -> Tensor:
    """Draw the directions [N, C, H, W] of a path length: normal noise over √(H·W)."""
    _, height, width = image_shape
    return torch.randn(num_samples, *image_shape, generator=rng) / sqrt(height * width)


def noise_shapes(network: nn.Module) -> Mapping[str, tuple[int, ...]]:
    """List the noise that a generator's layers take, by layer; none where it has none."""
    shapes = getattr(network.synthesis, "noise_shapes", None)
    return shapes() if callable(shapes) else {}


def generate(network: nn.Module, draw: Draw, *, update_emas: bool = False) -> Tensor:
    """Return the images of a draw, by any generator."""
    if not isinstance(network, StyleNetwork):
        images: Tensor = network(draw["z"], class_input(network, draw["c"]))
        return images
    ws = map_latents(network, draw, update_emas=update_emas)
    return synthesize(network, ws, draw, update_emas=update_emas)


def class_input(network: nn.Module, c: Tensor) -> Tensor | None:
    """Return the labels c [N, c_dim] as `network` takes them: None without labels, one class for BigGAN."""
    if c.shape[1]:
        return c
    return c.new_ones(len(c), 1) if isinstance(network, BigGANGenerator) else None


def map_latents(network: nn.Module, draw: Draw, *, update_emas: bool = False) -> Tensor:
    """Return the ws [N, num_ws, w_dim] of a draw, two styles mixed where it says so."""
    mapping = network.mapping
    if not isinstance(mapping, nn.Module):
        raise UnsupportedError("Only generators with a mapping network are trained here.")
    c = draw["c"] if draw["c"].shape[1] else None
    ws: Tensor = mapping(draw["z"], c, update_emas=update_emas)
    if not bool(draw["mixed"].any()):
        return ws
    other: Tensor = mapping(draw["z_mixed"], c)
    return torch.where(draw["mixed"][:, :, None], other, ws)


def synthesize(network: nn.Module, ws: Tensor, draw: Draw, *, update_emas: bool = False) -> Tensor:
    """Return the images of `ws` under the noise of a draw."""
    synthesis = network.synthesis
    assert isinstance(synthesis, nn.Module)
    noise = {name.removeprefix(NOISE): value for name, value in draw.items() if name.startswith(NOISE)}
    has_magnitudes = isinstance(network, StyleGAN3Generator)
    images: Tensor = synthesis(ws, update_emas=update_emas) if has_magnitudes else synthesis(ws, noise=noise)
    return images
