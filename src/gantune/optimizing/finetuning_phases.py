"""The phases of fine-tuning: the trainer's own, whose generator also learns from the float network."""

from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from gantune.optimizing.finetuning_options import FinetuneOptions
from gantune.training.dealing import Draw
from gantune.training.draws import draw_latents, generate
from gantune.training.game import Game
from gantune.training.losses import generator_loss
from gantune.training.options import Recipe
from gantune.training.phases import G_MAIN, Phase, plan_phases
from gantune.transforms.quantize.operator import quantize_dequantize
from gantune.transforms.quantize.scheme import Scheme
from gantune.transforms.quantize.weights import fit_weight_grid


def plan_finetuning(teacher: nn.Module, recipe: Recipe, options: FinetuneOptions) -> tuple[Phase, ...]:
    """List the phases: the generator's, and those of a discriminator that learns."""

    def descend(game: Game, draw: Draw, weight: float) -> None:
        _descend_beside(teacher, options, game, draw, weight)

    phases = [replace(G_MAIN, draw=_draw, descend=descend)]
    if options.discriminator in ("float", "quantized"):
        planned = plan_phases(recipe, teacher)
        phases += [phase for phase in planned if phase.learner == "discriminator"]
    return tuple(phases)


def _draw(game: Game, labels: Tensor, rng: torch.Generator) -> dict[str, Tensor]:
    return draw_latents(game.players.generator, labels, game.recipe.batch, rng, style_mixing=0)


def _descend_beside(
    teacher: nn.Module, options: FinetuneOptions, game: Game, draw: Draw, weight: float
) -> None:
    images = generate(game.players.generator, draw)
    with torch.no_grad():
        expected = generate(teacher, draw)
    error = (images - expected).square().mean()
    game.record("loss/distillation", error)
    loss = options.distillation * error
    if options.has_adversary:
        labels = draw["c"] if draw["c"].shape[1] else None
        logits = game.players.discriminator(images, labels)
        adversarial = generator_loss(logits, loss=game.recipe.loss).mean()
        game.record("loss/generator", adversarial)
        loss = loss + adversarial
    (loss * weight).backward()  # type: ignore[no-untyped-call]


class _FollowingGrid(nn.Module):
    """Round a weight to the grid of its own extremes, channel by channel, wherever training takes it."""

    def __init__(self, num_bits: int) -> None:
        super().__init__()
        self.scheme = Scheme(bits=num_bits, granularity="per_channel")

    def forward(self, weight: Tensor) -> Tensor:
        grid = fit_weight_grid(weight, self.scheme, axis=0, clipping="min_max")
        rounded: Tensor = quantize_dequantize(weight, grid.scale, grid.zero_point, 0, grid.low, grid.high)
        return rounded


def round_discriminator(discriminator: nn.Module, num_bits: int) -> None:
    """Round the weights of a discriminator's convolutions and linear layers in place, while it trains too."""
    found = [
        module
        for module in discriminator.modules()
        if isinstance(getattr(module, "weight", None), nn.Parameter) and module.weight.ndim in (2, 4)
    ]
    for module in found:
        parametrize.register_parametrization(module, "weight", _FollowingGrid(num_bits), unsafe=True)
