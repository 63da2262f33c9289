"""The phases of a step as data: who learns, how often, from which loss."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from gantune.records.interface import InputSpec
from gantune.training.augment import augment, draw_augmentation
from gantune.training.dealing import Draw
from gantune.training.draws import draw_directions, draw_latents, generate, map_latents, synthesize
from gantune.training.game import Game
from gantune.training.losses import (
    discriminator_loss,
    generator_loss,
    path_length_penalty,
    path_lengths,
    r1_penalty,
)
from gantune.training.options import Recipe
from gantune.training.players import has_path_lengths

PhaseName = Literal["g_main", "g_path_length", "d_main", "d_r1"]
Learner = Literal["generator", "discriminator"]
FAKE, REAL = "fake.", "real."
PATH_LENGTH_SHRINK = 2


@dataclass(frozen=True)
class Phase:
    """One optimizer step: `learner` descends on `loss` every `interval` steps.

    `draw` gives what chance decides for the whole batch; `loss` takes a share of it and does its own backward
    passes, scaled by `weight`. `is_second_order` says that the loss holds a gradient. `num_samples` is the
    phase's batch, `is_grouped` whether the discriminator's minibatch statistics run over it.
    """

    name: PhaseName
    learner: Learner
    interval: int
    is_second_order: bool
    draw: Callable[[Game, Tensor, torch.Generator], dict[str, Tensor]]
    descend: Callable[[Game, Draw, float], None]
    uses_real_images: bool = False
    is_grouped: bool = True


def plan_phases(recipe: Recipe, generator: torch.nn.Module) -> tuple[Phase, ...]:
    """List the phases of a recipe, in the order in which a step runs them."""
    phases = [G_MAIN]
    if recipe.pl_weight > 0 and has_path_lengths(generator):
        phases.append(
            Phase(
                "g_path_length",
                "generator",
                recipe.g_reg_interval,
                is_second_order=True,
                draw=_draw_path_length,
                descend=_descend_path_length,
                is_grouped=False,
            )
        )
    phases.append(D_MAIN)
    if recipe.gamma > 0:
        phases.append(
            Phase(
                "d_r1",
                "discriminator",
                recipe.d_reg_interval,
                is_second_order=True,
                draw=_draw_r1,
                descend=_descend_r1,
                uses_real_images=True,
            )
        )
    return tuple(phases)


def _draw_fakes(game: Game, labels: Tensor, rng: torch.Generator) -> dict[str, Tensor]:
    recipe = game.recipe
    draw = draw_latents(game.players.generator, labels, recipe.batch, rng, style_mixing=recipe.style_mixing)
    return draw | draw_augmentation(recipe.augment, recipe.batch, _image_shape(game), rng, prefix=FAKE)


def _draw_fakes_and_reals(game: Game, labels: Tensor, rng: torch.Generator) -> dict[str, Tensor]:
    return _draw_fakes(game, labels, rng) | _draw_r1(game, labels, rng)


def _draw_r1(game: Game, labels: Tensor, rng: torch.Generator) -> dict[str, Tensor]:
    recipe = game.recipe
    return draw_augmentation(recipe.augment, recipe.batch, _image_shape(game), rng, prefix=REAL)


def _image_shape(game: Game) -> tuple[int, ...]:
    """Return (C, H, W) of the images that the discriminator takes."""
    specs: tuple[InputSpec, ...] = game.players.discriminator.inputs  # type: ignore[assignment]
    return tuple(int(size) for size in specs[0].shape[1:])


def _draw_path_length(game: Game, labels: Tensor, rng: torch.Generator) -> dict[str, Tensor]:
    generator, recipe = game.players.generator, game.recipe
    # A second derivative through the generator needs the most memory of all phases.
    count = max(recipe.batch // PATH_LENGTH_SHRINK, 1)
    draw = draw_latents(generator, labels, count, rng, style_mixing=recipe.style_mixing)
    return draw | {"directions": draw_directions(count, _image_shape(game), rng)}


def _discriminate(game: Game, images: Tensor, c: Tensor, draw: Draw, prefix: str) -> Tensor:
    seen = augment(images, draw, game.augment.p, options=game.recipe.augment, prefix=prefix)
    logits: Tensor = game.players.discriminator(seen, c if c.shape[1] else None)
    return logits


def _descend_g_main(game: Game, draw: Draw, weight: float) -> None:
    generator = game.players.generator
    images = generate(generator, draw)
    logits = _discriminate(game, images, draw["c"], draw, FAKE)
    loss = generator_loss(logits, loss=game.recipe.loss).mean()
    game.record("loss/generator", loss)
    (loss * weight).backward()  # type: ignore[no-untyped-call]


def _descend_path_length(game: Game, draw: Draw, weight: float) -> None:
    generator, recipe = game.players.generator, game.recipe
    ws = map_latents(generator, draw)
    images = synthesize(generator, ws, draw)
    lengths = path_lengths(images, ws, draw["directions"])
    game.record("path_length", lengths)
    penalty = path_length_penalty(lengths, game.path_length_mean).mean()
    game.record("loss/path_length", penalty)
    (penalty * (recipe.pl_weight * recipe.g_reg_interval * weight)).backward()  # type: ignore[no-untyped-call]


def _descend_d_main(game: Game, draw: Draw, weight: float) -> None:
    generator, loss_name = game.players.generator, game.recipe.loss
    with torch.no_grad():
        images = generate(generator, draw, update_emas=True)
    # Two backward passes: the graphs of fake and real images never exist together.
    fake_logits = _discriminate(game, images, draw["c"], draw, FAKE)
    fake_loss = discriminator_loss(fake_logits, is_real=False, loss=loss_name).mean()
    (fake_loss * weight).backward()  # type: ignore[no-untyped-call]
    real_logits = _discriminate(game, draw["images"], draw["labels"], draw, REAL)
    real_loss = discriminator_loss(real_logits, is_real=True, loss=loss_name).mean()
    (real_loss * weight).backward()  # type: ignore[no-untyped-call]
    game.record("loss/discriminator", fake_loss.detach() + real_loss.detach())
    game.record("logits/fake", fake_logits)
    game.record("logits/real", real_logits)
    game.record("signs/real", real_logits.sign())


def _descend_r1(game: Game, draw: Draw, weight: float) -> None:
    recipe = game.recipe
    images = draw["images"].detach().requires_grad_()
    logits = _discriminate(game, images, draw["labels"], draw, REAL)
    penalty = r1_penalty(logits, images).mean()
    game.record("r1_penalty", penalty)
    (penalty * (recipe.gamma / 2 * recipe.d_reg_interval * weight)).backward()  # type: ignore[no-untyped-call]


G_MAIN = Phase("g_main", "generator", 1, is_second_order=False, draw=_draw_fakes, descend=_descend_g_main)
D_MAIN = Phase(
    "d_main",
    "discriminator",
    1,
    is_second_order=False,
    draw=_draw_fakes_and_reals,
    descend=_descend_d_main,
    uses_real_images=True,
)
