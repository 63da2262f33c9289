"""The state of a training run between two steps: everything that a resumed run must have again."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from gantune.training.augment import AugmentState
from gantune.training.loss_scale import LossScale
from gantune.training.options import Recipe
from gantune.training.players import Players, has_path_lengths

Records = dict[str, list[Tensor]]


@dataclass
class Game:
    """The players, their optimizers and the running numbers after `step` steps and `num_images` images.

    `loss_scales` are those of the learners, for float16. `records` collects what the phases report since the
    last tick; it is not part of the state. `data` is the fingerprint of the images, where it is known.
    """

    players: Players
    recipe: Recipe
    g_optimizer: torch.optim.Optimizer
    d_optimizer: torch.optim.Optimizer
    augment: AugmentState
    path_length_mean: Tensor
    step: int = 0
    num_images: int = 0
    elapsed_s: float = 0.0
    data: str | None = None
    loss_scales: dict[str, LossScale] = field(
        default_factory=lambda: {"generator": LossScale(), "discriminator": LossScale()}
    )
    records: Records = field(default_factory=dict)

    def record(self, name: str, value: Tensor) -> None:
        """Keep a value for the statistics of this tick."""
        self.records.setdefault(name, []).append(value.detach().float().mean())


def start_game(players: Players, recipe: Recipe, *, fused_optimizer: bool) -> Game:
    """Begin a run: fresh optimizers, with the corrections for penalties that run every so many steps.

    Karras et al., arXiv 1912.04958, appendix B: with interval k, c = k/(k+1) scales the learning rate and is
    the exponent of both betas.
    """
    has_g_penalty = recipe.pl_weight > 0 and has_path_lengths(players.generator)
    device = next(players.generator.parameters()).device
    return Game(
        players=players,
        recipe=recipe,
        g_optimizer=_adam(
            players.generator,
            recipe,
            recipe.g_lr,
            recipe.g_reg_interval if has_g_penalty else None,
            fused_optimizer,
        ),
        d_optimizer=_adam(
            players.discriminator,
            recipe,
            recipe.d_lr,
            recipe.d_reg_interval if recipe.gamma > 0 else None,
            fused_optimizer,
        ),
        augment=AugmentState(p=recipe.augment.p),
        path_length_mean=torch.zeros([], device=device),
    )


def _adam(
    network: torch.nn.Module, recipe: Recipe, lr: float, interval: int | None, is_fused: bool
) -> torch.optim.Optimizer:
    correction = 1.0 if interval is None else interval / (interval + 1)
    return torch.optim.Adam(
        network.parameters(),
        lr=lr * correction,
        betas=(recipe.beta1**correction, recipe.beta2**correction),
        eps=1e-8,
        fused=is_fused,
        foreach=False,
    )
