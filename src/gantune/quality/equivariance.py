"""Equivariance of StyleGAN3 in dB: EQ-T, EQ-T-frac, EQ-R (Karras et al. 2021, arXiv 2106.12423, appendix E).

10·log10(I_max² / mean square of g(t[z₀]) − t[g(z₀)]) over w, motions t, channels and known pixels, I_max = 2:
moving the network's input must give the moved image. For rotations both sides are limited to the frequencies
that the pixel grid holds before and after.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
import torch
from torch import Tensor, nn

from gantune.errors import UnsupportedError, UsageError
from gantune.networks.contract import StyleNetwork
from gantune.quality.motion import limit_to_common_band, rotate, shift_fraction, shift_whole

Motion = Literal["translation", "fractional_translation", "rotation"]


@dataclass(frozen=True, kw_only=True)
class EquivarianceOptions:
    """Average over `num_samples` latents and motions; shifts reach `largest_shift` of the image each way."""

    num_samples: int = 100
    seed: int = 0
    largest_shift: float = 0.125
    truncation_psi: float = 1.0

    def __post_init__(self) -> None:
        if self.num_samples < 1 or not 0 < self.largest_shift < 0.5:
            raise UsageError(
                f"num_samples is {self.num_samples} and largest_shift {self.largest_shift:g}; at least 1, "
                "and between 0 and 0.5"
            )


@torch.no_grad()
def equivariance_db(
    network: nn.Module, motion: Motion, options: EquivarianceOptions | None = None
) -> tuple[float, list[float]]:
    """Give the figure in dB (∞ where nothing differs), and the mean squared errors it averages.

    Raises `UnsupportedError` for a network whose input cannot be moved: only StyleGAN3's can.
    """
    options = options or EquivarianceOptions()
    entrance = _find_input(network)
    style = cast(StyleNetwork, network)
    scale = 2 / style.output.value_range
    compare = _COMPARISONS[motion]
    errors = []
    for index in range(options.num_samples):
        generator = np.random.default_rng([options.seed, index])
        drawn = style.sample_inputs(1, options.seed + index)
        ws = style.mapping(drawn["z"], drawn.get("c"), options.truncation_psi)
        errors.append(compare(style, entrance, ws, generator, options) * scale**2)
    mean = sum(errors) / len(errors)
    return (10 * math.log10(4 / mean) if mean > 0 else math.inf), errors


def _find_input(network: nn.Module) -> nn.Module:
    entrance = getattr(getattr(network, "synthesis", None), "input", None)
    if not isinstance(entrance, nn.Module) or not isinstance(getattr(entrance, "transform", None), Tensor):
        raise UnsupportedError(
            "Equivariance needs a network whose input can be moved (a synthesis.input.transform): StyleGAN3."
        )
    return entrance


@contextmanager
def _moved(entrance: nn.Module, motion: Tensor) -> Iterator[None]:
    """Move the scene by `motion` [3, 3] on top of the user's own transform, which comes back after."""
    transform = cast(Tensor, entrance.transform)
    kept = transform.clone()
    try:
        transform.copy_(kept @ torch.linalg.inv(motion).to(kept))
        yield
    finally:
        transform.copy_(kept)


def _translation_error(
    network: StyleNetwork,
    entrance: nn.Module,
    ws: Tensor,
    generator: np.random.Generator,
    options: EquivarianceOptions,
    *,
    is_whole: bool,
) -> float:
    side = network.resolution
    dx, dy = (generator.uniform(-1, 1, 2) * options.largest_shift * side).tolist()
    if is_whole:
        dx, dy = round(dx), round(dy)
    motion = torch.eye(3, dtype=torch.float64)
    motion[0, 2], motion[1, 2] = dx / side, dy / side
    with _moved(entrance, motion):
        found = network.synthesis(ws).double()
    image = network.synthesis(ws).double()
    expected, known = shift_whole(image, int(dx), int(dy)) if is_whole else shift_fraction(image, dx, dy)
    return float((found - expected)[:, :, known].square().mean())


def _whole_error(
    network: StyleNetwork,
    entrance: nn.Module,
    ws: Tensor,
    generator: np.random.Generator,
    options: EquivarianceOptions,
) -> float:
    return _translation_error(network, entrance, ws, generator, options, is_whole=True)


def _fraction_error(
    network: StyleNetwork,
    entrance: nn.Module,
    ws: Tensor,
    generator: np.random.Generator,
    options: EquivarianceOptions,
) -> float:
    return _translation_error(network, entrance, ws, generator, options, is_whole=False)


def _rotation_error(
    network: StyleNetwork,
    entrance: nn.Module,
    ws: Tensor,
    generator: np.random.Generator,
    options: EquivarianceOptions,
) -> float:
    angle = float(generator.uniform(0, 2 * math.pi))
    motion = torch.eye(3, dtype=torch.float64)
    motion[0, 0] = motion[1, 1] = math.cos(angle)
    motion[1, 0], motion[0, 1] = math.sin(angle), -math.sin(angle)
    with _moved(entrance, motion):
        found, inside = limit_to_common_band(network.synthesis(ws).double(), angle)
    limited, _ = limit_to_common_band(network.synthesis(ws).double(), -angle)
    expected, known = rotate(limited, angle)
    known = known & inside & _rotated_inside(inside, angle)
    if not bool(known.any()):
        raise UnsupportedError(f"Images of {network.resolution}² are too small for rotations to be compared.")
    return float((found - expected)[:, :, known].square().mean())


def _rotated_inside(inside: Tensor, angle: float) -> Tensor:
    """Say where every pixel a rotation read was itself known."""
    unknown, _ = rotate((~inside).double()[None, None], angle)
    return unknown[0, 0].abs() < 1e-9


_COMPARISONS: dict[
    Motion,
    Callable[[StyleNetwork, nn.Module, Tensor, np.random.Generator, EquivarianceOptions], float],
] = {
    "translation": _whole_error,
    "fractional_translation": _fraction_error,
    "rotation": _rotation_error,
}
