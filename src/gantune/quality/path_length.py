"""Perceptual path length (Karras et al. 2019, 2020): how abruptly images change along latent paths."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from gantune.errors import UnsupportedError, UsageError
from gantune.networks.contract import StyleNetwork
from gantune.runtime.sampling import draw_inputs

Distance = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True, kw_only=True)
class PathLengthOptions:
    """Choose the space (z: spherical, w: linear), the place on the path (anywhere, or its start), and n.

    The lowest and highest `trimmed_share` of the samples are left out, as the papers do with 1 %.
    """

    space: Literal["z", "w"] = "w"
    sampling: Literal["full", "end"] = "end"
    num_paths: int = 50_000
    epsilon: float = 1e-4
    batch: int = 8
    seed: int = 0
    trimmed_share: float = 0.01

    def __post_init__(self) -> None:
        if self.num_paths < 2 or not self.epsilon > 0 or self.batch < 1:
            raise UsageError(
                f"num_paths is {self.num_paths}, epsilon {self.epsilon:g}, batch {self.batch}; at least 2, "
                "above 0, at least 1"
            )
        if not 0 <= self.trimmed_share < 0.5:
            raise UsageError(f"trimmed_share is {self.trimmed_share:g}; it must lie in [0, 0.5)")


@torch.no_grad()
def perceptual_path_length(
    network: nn.Module, distance: Distance, options: PathLengthOptions | None = None
) -> tuple[float, NDArray[np.float64]]:
    """Average distance(G(t), G(t + ε)) / ε² over random paths; give it and the untrimmed samples.

    `distance` takes two batches of the network's images, in its own range and not rounded, and gives [N]:
    LPIPS for the published figure. Raises `UnsupportedError` for a network without `mapping` and `synthesis`.
    """
    options = options or PathLengthOptions()
    if not isinstance(network, StyleNetwork):
        raise UnsupportedError(
            "Path length needs a network with mapping and synthesis: StyleGAN2 or StyleGAN3."
        )
    samples = [
        _path_lengths(network, distance, options, start)
        for start in range(0, options.num_paths, options.batch)
    ]
    values = np.concatenate(samples)
    low, high = np.quantile(values, [options.trimmed_share, 1 - options.trimmed_share])
    return float(values[(values >= low) & (values <= high)].mean()), values


def _path_lengths(
    network: StyleNetwork, distance: Distance, options: PathLengthOptions, start: int
) -> NDArray[np.float64]:
    count = min(options.batch, options.num_paths - start)
    # Sample i of a path depends on its own number alone, so the figure does not depend on the batch.
    draws = [_draw_path(network, options, start + index) for index in range(count)]
    z0, z1, t = (torch.stack([draw[part] for draw in draws]) for part in range(3))
    c = torch.stack([draw[3] for draw in draws]) if network.c_dim else None
    if options.space == "w":
        ends = network.mapping(z0, c), network.mapping(z1, c)
        before, after = (torch.lerp(*ends, step[:, None, None]) for step in (t, t + options.epsilon))
    else:
        before, after = (
            network.mapping(slerp(z0, z1, step[:, None]), c) for step in (t, t + options.epsilon)
        )
    images = network.synthesis(before), network.synthesis(after)
    return np.asarray((distance(*images) / options.epsilon**2).double().numpy())


def _draw_path(
    network: StyleNetwork, options: PathLengthOptions, index: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    generator = np.random.default_rng([options.seed, index])
    latents = generator.standard_normal((2, network.z_dim))
    t = generator.uniform() if options.sampling == "full" else 0.0
    labels = [spec for spec in network.inputs if spec.kind == "class"]
    drawn = draw_inputs(labels, 1, int(generator.integers(2**31)))
    label = torch.from_numpy(drawn[labels[0].name][0]) if labels else torch.zeros(0)
    z0, z1 = torch.from_numpy(latents)
    dtype = _dtype_of(network)
    return z0.to(dtype), z1.to(dtype), torch.tensor(t, dtype=dtype), label


def _dtype_of(network: StyleNetwork) -> torch.dtype:
    assert isinstance(network, nn.Module)
    floating = (p.dtype for p in network.parameters() if p.is_floating_point())
    return next(floating, torch.float32)


def slerp(a: Tensor, b: Tensor, t: Tensor) -> Tensor:
    """Walk the great circle from a [N, K] to b by t [N, 1]; the ends are normalized first."""
    a, b = a / a.norm(dim=1, keepdim=True), b / b.norm(dim=1, keepdim=True)
    cosine = (a * b).sum(dim=1, keepdim=True).clamp(-1, 1)
    across = b - cosine * a
    across = across / across.norm(dim=1, keepdim=True).clamp(min=torch.finfo(a.dtype).tiny)
    angle = t * cosine.acos()
    point: Tensor = a * angle.cos() + across * angle.sin()
    return point
