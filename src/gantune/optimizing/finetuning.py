"""Quantization-aware training: the rounded generator learns in the adversarial loop, from its float original.

It starts from the network that was rounded after training, plays the trainer's own game with its phases,
average and health watch, and ends on its grids. A run that breaks is stopped, says why, and gives nothing.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from math import cos, isfinite, pi

import torch
from torch import nn

from gantune.measuring.stopwatch import Stopwatch
from gantune.optimizing.finetuning_options import FinetuneOptions
from gantune.optimizing.finetuning_phases import plan_finetuning, round_discriminator
from gantune.optimizing.quantization_options import QuantizationRun
from gantune.optimizing.relative_rates import make_optimizer, set_rate
from gantune.optimizing.yardstick import Yardstick
from gantune.records.quantization import FinetunePoint, FinetuneRecord
from gantune.training.augment import AugmentState
from gantune.training.batches import BatchSchedule, BatchStream, Share
from gantune.training.dataset import ImageDataset
from gantune.training.game import Game
from gantune.training.health import SPREAD_FROM_IMAGES, Ailment, fake_spread, find_ailments
from gantune.training.layout import keep_channels_last
from gantune.training.options import AugmentOptions, Recipe, SpeedOptions
from gantune.training.peers import Peers
from gantune.training.players import Players
from gantune.training.statistics import Statistics, summarize
from gantune.training.step import RealBatch, StepContext, take_step
from gantune.transforms.quantize import make_trainable, put_on_grids

_GAMMA = 0.0002
# The half-life of the average, as a share of the whole run.
_AVERAGE_SHARE = 0.05
# The mapping network and its average of w stay the float one's: both generators see the same w.
FIXED = ("mapping.",)


@dataclass(frozen=True)
class Pupil:
    """What is trained: the float network in the engine's form, the same rounded, and its discriminator."""

    teacher: nn.Module
    rounded: nn.Module
    discriminator: nn.Module | None


@dataclass(frozen=True)
class Finetuned:
    """The trained network on its grids, None where the run was stopped, and what happened."""

    network: nn.Module | None
    record: FinetuneRecord


def finetune(
    pupil: Pupil,
    dataset: ImageDataset,
    options: FinetuneOptions,
    run: QuantizationRun,
    *,
    on_progress: Callable[[str], None] = lambda _: None,
) -> Finetuned:
    """Train the rounded network; `dataset` must fit it (see `open_finetuning_data`)."""
    game = _start(pupil, dataset, options, run)
    phases = plan_finetuning(pupil.teacher, game.recipe, options)
    context = StepContext(phases, SpeedOptions(workers=0, probe_memory=False), Peers(), dataset.labels)
    schedule = BatchSchedule(len(dataset), batch=options.batch, seed=run.seed, share=Share())
    stream = BatchStream(dataset, schedule, workers=0)
    try:
        return _Finetuning(pupil, game, context, stream, Yardstick(pupil.teacher, run), options).run(
            on_progress
        )
    finally:
        stream.close()


def _start(pupil: Pupil, dataset: ImageDataset, options: FinetuneOptions, run: QuantizationRun) -> Game:
    student = make_trainable(pupil.rounded, pupil.teacher, learns_steps=options.steps == "learned")
    # Without one, a network that nobody asks takes its place.
    discriminator = nn.Linear(1, 1) if pupil.discriminator is None else copy.deepcopy(pupil.discriminator)
    if options.discriminator == "quantized":
        round_discriminator(discriminator, run.scheme.weight_bits)
    if pupil.discriminator is not None:
        keep_channels_last(discriminator.train(options.discriminator != "frozen"))
    heuristic = _GAMMA * dataset.resolution**2 / options.batch
    recipe = Recipe(
        augment=AugmentOptions(kind="none"),
        batch=options.batch,
        gamma=heuristic if options.gamma is None else options.gamma,
        pl_weight=0,
        style_mixing=0,
        average_kimg=options.kimg * _AVERAGE_SHARE,
        average_rampup=None,
        seed=run.seed,
    )
    return Game(
        players=Players(student, discriminator.requires_grad_(False), copy.deepcopy(student)),
        recipe=recipe,
        g_optimizer=make_optimizer(student, options.rate, recipe, fixed=FIXED),
        d_optimizer=make_optimizer(discriminator, options.rate, recipe),
        augment=AugmentState(p=0.0),
        path_length_mean=torch.zeros([]),
    )


class _Finetuning:
    """Step, look at every tick, stop where it breaks, and leave the average on its grids."""

    def __init__(
        self,
        pupil: Pupil,
        game: Game,
        context: StepContext,
        stream: BatchStream,
        yardstick: Yardstick,
        options: FinetuneOptions,
    ) -> None:
        self.pupil, self.game, self.context, self.stream = pupil, game, context, stream
        self.yardstick, self.options = yardstick, options
        # Buffers are what training must not move: steps that stay, filters, the average of w.
        self.buffers = {name: held.clone() for name, held in game.players.generator.named_buffers()}
        self.first = yardstick.measure(game.players.generator)
        self.points: list[FinetunePoint] = []
        self.watch = Stopwatch()

    def run(self, on_progress: Callable[[str], None]) -> Finetuned:
        """Train to the end, or until the run is ill."""
        self.points.append(FinetunePoint(step=0, num_images=0, seconds=0.0, error_db=self.first.error_db))
        total, ticks = self.options.num_steps, self.options.num_ticks
        for step in range(1, total + 1):
            self._step(share=(1 + cos(pi * (step - 1) / total)) / 2)
            if step * ticks // total == (step - 1) * ticks // total:
                continue
            ailments = self._look(summarize(self.game.records))
            if ailments:
                reasons = "; ".join(f"{item.kind.replace('_', ' ')}: {item.reason}" for item in ailments)
                return Finetuned(None, self._describe(None, stopped=reasons))
            self.game.records.clear()
            on_progress(_tell(self.points[-1], total))
        network = put_on_grids(self.game.players.average)
        after_db = self.yardstick.measure(network).error_db
        return Finetuned(network, self._describe(after_db, stopped=None))

    def _step(self, *, share: float) -> None:
        game = self.game
        for optimizer in (game.g_optimizer, game.d_optimizer):
            set_rate(optimizer, share)
        pixels, labels = self.stream.next_batch()
        take_step(game, RealBatch(pixels.float() / 127.5 - 1, labels), self.context)
        with torch.no_grad():
            for network in (game.players.generator, game.players.average):
                for name, held in network.named_buffers():
                    held.copy_(self.buffers[name])

    def _look(self, statistics: Statistics) -> list[Ailment]:
        """Add a point to the curve, and say what is wrong."""
        game, players = self.game, self.game.players
        error = self.yardstick.measure(players.generator).mean_square
        found = find_departure(error, first_error=self.first.mean_square, spread=self.yardstick.spread)
        if isfinite(error):
            label = self.context.labels[0]
            spread = fake_spread(players.generator, label, seed=game.recipe.seed) / self.yardstick.spread
            # The float network varies from the first image on.
            found += find_ailments(statistics, spread=spread, num_images=SPREAD_FROM_IMAGES)
        means = {name: values["mean"] for name, values in statistics.items()}
        self.points.append(
            FinetunePoint(
                step=game.step,
                num_images=game.num_images,
                seconds=self.watch.elapsed_s,
                error_db=self.yardstick.measure(players.average).error_db,
                distillation=_finite(means.get("loss/distillation")),
                generator_loss=_finite(means.get("loss/generator")),
                discriminator_loss=_finite(means.get("loss/discriminator")),
            )
        )
        return found

    def _describe(self, after_db: float | None, *, stopped: str | None) -> FinetuneRecord:
        options = self.options
        return FinetuneRecord(
            data=options.data.name,
            discriminator=options.discriminator,
            steps=options.steps,
            distillation=options.distillation,
            rate=options.rate,
            num_steps=self.game.step,
            num_images=self.game.num_images,
            seconds=self.watch.elapsed_s,
            before_db=self.first.error_db,
            after_db=after_db,
            stopped=stopped,
            points=tuple(self.points),
        )


def find_departure(error: float, *, first_error: float, spread: float) -> list[Ailment]:
    """Say where a student's images have nothing left of its teacher's.

    Their squared error then exceeds the variance `spread`² of the teacher's own images, and twice the squared
    error that rounding alone began with.
    """
    if error <= max(2 * first_error, spread**2):
        return []
    reason = (
        f"the squared error of the images grew from {first_error:.3g} to {error:.3g}, beyond the "
        f"{spread**2:.3g} by which the float images differ from each other; give a smaller learning rate"
    )
    return [Ailment("divergence", reason)]


def _finite(value: float | None) -> float | None:
    return value if value is not None and isfinite(value) else None


def _tell(point: FinetunePoint, total: int) -> str:
    error = "identical" if point.error_db is None else f"{point.error_db:.2f} dB"
    return f"fine-tuning: step {point.step} of {total}, {error}"
