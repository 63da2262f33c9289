"""One step of training: every phase that is due, then the generator's average and the augmentation's p."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from gantune.measuring.stopwatch import Stopwatch
from gantune.ops import use_implementation
from gantune.training.augment import adjust_probability
from gantune.training.averaging import average_decay, update_average
from gantune.training.batches import seed_generator
from gantune.training.checkpointing import recompute_blocks
from gantune.training.compiling import CompiledForms
from gantune.training.dealing import deal
from gantune.training.game import Game
from gantune.training.options import SpeedOptions
from gantune.training.peers import Peers
from gantune.training.phases import Phase, PhaseName
from gantune.training.precision import Precision, use_precision

_PHASE_NUMBERS: dict[PhaseName, int] = {"g_main": 11, "g_path_length": 12, "d_main": 13, "d_r1": 14}


@dataclass(frozen=True)
class RealBatch:
    """This process's share of a step's real images in [-1, 1], with their labels."""

    images: Tensor
    labels: Tensor


@dataclass(frozen=True)
class StepContext:
    """What stays the same from step to step: phases, switches, processes, and the labels to draw from."""

    phases: Sequence[Phase]
    speed: SpeedOptions
    peers: Peers
    labels: Tensor
    on_phase: Callable[[str], None] = lambda _: None
    compiled: CompiledForms = field(default_factory=CompiledForms)


def take_step(game: Game, real: RealBatch, context: StepContext) -> None:
    """Run the phases that are due and advance `game` by one step."""
    watch = Stopwatch()
    with use_implementation(context.speed.implementation):
        for phase in context.phases:
            if game.step % phase.interval == 0:
                context.on_phase(phase.name)
                run_phase(phase, game, real, context)
                game.record(f"ms/{phase.name}", torch.tensor(watch.lap_ms()))
    recipe = game.recipe
    game.step += 1
    game.num_images += recipe.batch
    decay = average_decay(
        batch=recipe.batch,
        num_images=game.num_images,
        half_life_kimg=recipe.average_kimg,
        rampup=recipe.average_rampup,
    )
    update_average(game.players.average, game.players.generator, decay, grouped=context.speed.grouped_average)
    game.record("ms/average", torch.tensor(watch.lap_ms()))
    _adjust_augmentation(game, context)


def run_phase(phase: Phase, game: Game, real: RealBatch, context: StepContext) -> None:
    """Let the phase's learner take one optimizer step."""
    network, optimizer = _learner(phase, game)
    peers, rounds = context.peers, context.speed.accumulation
    rng = seed_generator(game.recipe.seed, game.step, _PHASE_NUMBERS[phase.name])
    whole = phase.draw(game, context.labels, rng)
    group = game.recipe.shape.mbstd_group if phase.is_grouped else 1
    share = deal(whole, part=peers.rank, num_parts=peers.world_size, group_size=group)
    if phase.uses_real_images:
        share |= {"images": real.images, "labels": real.labels}
    optimizer.zero_grad(set_to_none=True)
    network.requires_grad_(True)
    players = game.players
    recomputed = (players.generator, players.discriminator) if context.speed.checkpointing else ()
    precision: Precision = "fp32" if phase.is_second_order else context.speed.precision
    scale = game.loss_scales[phase.learner].value if precision == "fp16" else 1.0
    is_compiled = context.speed.compiled and not phase.is_second_order
    compiled = (players.generator, players.discriminator) if is_compiled else ()
    with use_precision(precision), recompute_blocks(*recomputed), context.compiled.in_use(*compiled):
        for index in range(rounds):
            phase.descend(game, deal(share, part=index, num_parts=rounds, group_size=group), scale / rounds)
    network.requires_grad_(False)
    if scale != 1:
        torch._foreach_div_([item.grad for item in network.parameters() if item.grad is not None], scale)
    _finish_phase(phase, game, network, optimizer, context)


def _finish_phase(
    phase: Phase, game: Game, network: nn.Module, optimizer: torch.optim.Optimizer, context: StepContext
) -> None:
    gradients = [parameter.grad for parameter in network.parameters() if parameter.grad is not None]
    context.on_phase(f"{phase.name}: exchanging")
    context.peers.average_gradients(gradients, phase=phase.name)
    norm = torch.nn.utils.get_total_norm(gradients)
    game.record(f"gradient_norm/{phase.name}", norm)
    has_overflow = not bool(norm.isfinite())
    game.record(f"overflow/{phase.name}", torch.tensor(float(has_overflow)))
    if context.speed.precision == "fp16" and not phase.is_second_order:
        game.record(f"loss_scale/{phase.learner}", torch.tensor(game.loss_scales[phase.learner].value))
        scale = game.loss_scales[phase.learner].after_step(has_overflow=has_overflow)
        game.loss_scales[phase.learner] = scale
    if has_overflow:
        return  # a single such step would spoil every weight
    optimizer.step()
    if phase.name == "g_path_length":
        lengths = torch.stack(game.records["path_length"][-context.speed.accumulation :]).mean()
        context.peers.average([lengths])
        game.path_length_mean.lerp_(lengths, game.recipe.pl_decay)
    if phase.name == "d_main":
        context.peers.average(_running_means(game.players.generator))


def _running_means(generator: nn.Module) -> list[Tensor]:
    """List the averages of w and of magnitudes, which are linear: their mean is that of the whole batch."""
    return [item for name, item in generator.named_buffers() if name.endswith(("w_avg", "magnitude_ema"))]


def _learner(phase: Phase, game: Game) -> tuple[nn.Module, torch.optim.Optimizer]:
    if phase.learner == "generator":
        return game.players.generator, game.g_optimizer
    return game.players.discriminator, game.d_optimizer


def _adjust_augmentation(game: Game, context: StepContext) -> None:
    options = game.recipe.augment
    if options.kind != "ada":
        return
    signs = torch.stack(game.records["signs/real"][-context.speed.accumulation :]).mean()
    context.peers.average([signs])
    game.augment = game.augment.observe(float(signs) * game.recipe.batch, game.recipe.batch)
    if game.step % options.interval == 0:
        game.augment = adjust_probability(
            game.augment, options, num_images=game.recipe.batch * options.interval
        )
