"""Is the training still healthy? Stated rules over what each tick reports; a broken run says why it stops.

| finding | rule |
|---|---|
| overflow | a gradient of a phase is NaN or infinite in more than half of the tick's steps |
| vanishing gradient | the gradient norm of g_main is below 1e-6, or real and fake logits part by over 30 |
| logits drift | the mean of D's logits, real and fake together, leaves ±50 |
| mode collapse | images of different latents and one label differ by less than 2 % of what real images do |
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from gantune.errors import ScriptError
from gantune.training.batches import seed_generator
from gantune.training.draws import class_input
from gantune.training.statistics import Statistics

Kind = Literal["overflow", "vanishing_gradient", "logits_drift", "mode_collapse", "divergence"]
MOST_OVERFLOWS = 0.5
SMALLEST_NORM = 1e-6
LARGEST_GAP = 30.0
LARGEST_MEAN_LOGIT = 50.0
SMALLEST_SPREAD = 0.02
SPREAD_FROM_IMAGES = 20_000
NUM_SAMPLES = 16
_HEALTH = 21


@dataclass(frozen=True)
class Ailment:
    """What is wrong, and the numbers that say so."""

    kind: Kind
    reason: str


def find_ailments(statistics: Statistics, *, spread: float, num_images: int) -> tuple[Ailment, ...]:
    """Apply the rules to a tick's statistics and to the `spread` of fakes relative to that of real images.

    An untrained generator hardly varies: its spread counts from 20,000 images on.
    """
    found: list[Ailment] = []
    for name, values in statistics.items():
        if name.startswith("overflow/") and values["mean"] > MOST_OVERFLOWS:
            share = f"{values['mean']:.0%}"
            reason = f"{share} of the gradients of {name.removeprefix('overflow/')} are NaN or infinite"
            found.append(
                Ailment("overflow", f"{reason}; train with --precision fp32, a smaller learning rate")
            )
    norm = _mean(statistics, "gradient_norm/g_main")
    real, fake = _mean(statistics, "logits/real"), _mean(statistics, "logits/fake")
    if norm is not None and norm < SMALLEST_NORM:
        found.append(
            Ailment("vanishing_gradient", f"the generator's gradient norm is {norm:.1e}: raise --gamma")
        )
    if real is not None and fake is not None:
        if real - fake > LARGEST_GAP:
            reason = f"the logits of real and fake images part by {real - fake:.1f}: raise --gamma"
            found.append(Ailment("vanishing_gradient", reason))
        if abs(real + fake) / 2 > LARGEST_MEAN_LOGIT:
            reason = f"the mean logit is {(real + fake) / 2:.1f}: lower the discriminator's learning rate"
            found.append(Ailment("logits_drift", reason))
    if spread < SMALLEST_SPREAD and num_images >= SPREAD_FROM_IMAGES:
        reason = f"different latents give images that differ by {spread:.2%} of what real images do"
        found.append(
            Ailment("mode_collapse", f"{reason}: resume from an earlier state with a higher --gamma")
        )
    return tuple(found)


def image_spread(images: Tensor) -> float:
    """Return the mean distance, by root mean square, of images [N, C, H, W] from their average."""
    return float((images - images.mean(dim=0)).square().mean().sqrt())


@torch.no_grad()
def fake_spread(generator: nn.Module, label: Tensor, *, seed: int) -> float:
    """Return the spread of images of different latents under one label [c_dim]."""
    z_dim = int(generator.z_dim)  # type: ignore[arg-type]
    z = torch.randn(NUM_SAMPLES, z_dim, generator=seed_generator(seed, _HEALTH)).to(label)
    c = class_input(generator, label.expand(NUM_SAMPLES, -1))
    was_training = generator.training
    # Looking must not move running statistics.
    generator.eval()
    try:
        return image_spread(generator(z, c))
    finally:
        generator.train(was_training)


def stop_if_ill(ailments: Sequence[Ailment], *, resume: str) -> None:
    """Raise `ScriptError` with every reason; do nothing where there is none."""
    if ailments:
        reasons = "; ".join(f"{item.kind.replace('_', ' ')}: {item.reason}" for item in ailments)
        raise ScriptError(f"The training is broken ({reasons}). The last state is kept in {resume}.")


def _mean(statistics: Statistics, name: str) -> float | None:
    values = statistics.get(name)
    return None if values is None else values["mean"]
