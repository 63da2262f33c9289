"""The training loop: batches in, steps, statistics at every tick, snapshots, and a state to resume from."""

import json
import logging
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from gantune.errors import InterruptedRunError, UsageError
from gantune.measuring.process_facts import read_peak_bytes
from gantune.measuring.stopwatch import Stopwatch
from gantune.runtime.allocator import tune_allocator
from gantune.training.batches import BatchSchedule, BatchStream, Share, explain_lost_workers
from gantune.training.compiling import check_compiler
from gantune.training.dataset import ImageDataset
from gantune.training.game import Game, start_game
from gantune.training.health import fake_spread, find_ailments, image_spread, stop_if_ill
from gantune.training.interruption import StopRequest, stop_between_steps
from gantune.training.layout import keep_channels_last
from gantune.training.memory_probe import check_memory, probe_phases
from gantune.training.options import Recipe, Schedule, SpeedOptions
from gantune.training.peers import Peers
from gantune.training.phases import plan_phases
from gantune.training.pictures import pick_labels, read_reals, write_fakes, write_reals
from gantune.training.players import build_players
from gantune.training.progress import describe_probe, describe_tick
from gantune.training.run_folder import (
    CHANGES_FILE,
    OPTIONS_FILE,
    STATE_FILE,
    create_run_folder,
    find_state,
    hold_run,
    remove_leftovers,
    snapshot_path,
)
from gantune.training.saving import load_state, load_weights, save_snapshot, save_state
from gantune.training.scoring import METRICS_FILE, Scoring, describe_scores, score_snapshot
from gantune.training.shapes import ImageShape
from gantune.training.statistics import STATISTICS_FILE, Statistics, append_line, cut_after, single, summarize
from gantune.training.step import RealBatch, StepContext, take_step
from gantune.training.watchdog import watch

_logger = logging.getLogger(__name__)
Report = Callable[[str], None]


@dataclass(frozen=True)
class TrainRequest:
    """What to train, on which data, where to, and from where on.

    `resume` is a run folder, which is continued in place, or a checkpoint, with whose networks a new run
    begins. `scoring` says how snapshots are scored; None is not at all.
    """

    data: Path
    outdir: Path
    recipe: Recipe
    schedule: Schedule
    speed: SpeedOptions
    resume: Path | None = None
    scoring: Scoring | None = None


@dataclass(frozen=True)
class TrainResult:
    """Where the run lies and how far it came."""

    run: Path
    snapshot: Path
    num_images: int
    seconds: float


def open_data(request: TrainRequest) -> ImageDataset:
    """Open the data set as the recipe reads it; raise `UsageError` for a resolution no network has."""
    dataset = ImageDataset(request.data, use_labels=request.recipe.cond, mirror=request.recipe.mirror)
    resolution = dataset.resolution
    if resolution < 8 or resolution & (resolution - 1):
        raise UsageError(
            f"The pictures in {request.data} are {resolution} wide; networks take a power of two from 8 on. "
            "Resize them."
        )
    return dataset


def train(
    request: TrainRequest, *, peers: Peers | None = None, on_progress: Report = lambda _: None
) -> TrainResult:
    """Train until `kimg` thousand images have been seen, and return where the result lies.

    Raise `InterruptedRunError` where SIGINT or SIGTERM stops it; the state is saved then, between two steps.
    """
    peers = peers or Peers()
    dataset = open_data(request)
    recipe, speed = request.recipe, request.speed
    images = ImageShape(dataset.resolution, dataset.channels, dataset.label_dim)
    if request.resume is not None and request.resume.is_dir():
        find_state(request.resume)
    if request.scoring is not None:
        request.scoring.check()
    if speed.compiled:
        check_compiler()
    if speed.tuned_allocator:
        tune_allocator()
    if speed.probe_memory:
        probe = probe_phases(recipe, speed, images, peers=peers)
        on_progress(describe_probe(probe))
        check_memory(probe)
    players = build_players(recipe.shape, images, seed=recipe.seed)
    if speed.channels_last:
        keep_channels_last(players.generator)
        keep_channels_last(players.discriminator)
    game = start_game(players, recipe, fused_optimizer=speed.fused_optimizer)
    game.data = dataset.fingerprint()
    share = Share(peers.rank, peers.world_size, recipe.shape.mbstd_group)
    with stop_between_steps() as wish, _take_run(request, game, dataset, peers) as run:
        schedule = BatchSchedule(
            len(dataset), batch=recipe.batch, seed=recipe.seed, first_step=game.step, share=share
        )
        with (
            watch(rank=peers.rank, patience_s=speed.patience_s) as dog,
            _open_stream(dataset, schedule, speed) as stream,
        ):
            phases = plan_phases(recipe, players.generator)
            context = StepContext(phases, speed, peers, dataset.labels, on_phase=dog.beat)
            return _Loop(request, game, context, stream, run, dataset, on_progress).run(wish)


@contextmanager
def _open_stream(
    dataset: ImageDataset, schedule: BatchSchedule, speed: SpeedOptions
) -> Iterator[BatchStream]:
    stream = BatchStream(dataset, schedule, workers=speed.workers)
    try:
        with explain_lost_workers():
            yield stream
    finally:
        stream.close()


@contextmanager
def _take_run(request: TrainRequest, game: Game, dataset: ImageDataset, peers: Peers) -> Iterator[Path]:
    """Create the run's folder, or take up the one that is resumed, and hold it until the block ends."""
    if request.resume is not None and request.resume.is_dir():
        run = request.resume
        with hold_run(run) if peers.is_first else nullcontext():
            saved = load_state(game, find_state(run))
            if peers.is_first:
                _note_changes(saved, request.recipe, run, game.num_images)
                for name in (STATISTICS_FILE, METRICS_FILE):
                    cut_after(run / name, game.num_images)
                remove_leftovers(run)
            yield run
        return
    if request.resume is not None:
        load_weights(game.players, request.resume)
    created = str(_create_run(request, dataset)) if peers.is_first else ""
    run = Path(peers.share_text(created))
    with hold_run(run) if peers.is_first else nullcontext():
        yield run


def _create_run(request: TrainRequest, dataset: ImageDataset) -> Path:
    recipe = request.recipe
    # Read first: a damaged picture must not leave a folder behind.
    reals = read_reals(dataset, seed=recipe.seed)
    name = f"{recipe.shape.cfg}-{request.data.stem}-batch{recipe.batch}-gamma{recipe.gamma:g}"
    run = create_run_folder(request.outdir, name)
    described = {
        "data": str(request.data),
        "recipe": asdict(recipe),
        "schedule": asdict(request.schedule),
        "speed": asdict(request.speed),
        "resume": None if request.resume is None else str(request.resume),
    }
    try:
        (run / OPTIONS_FILE).write_text(json.dumps(described, indent=2) + "\n")
        write_reals(reals, run / "reals.png")
    except OSError:
        shutil.rmtree(run, ignore_errors=True)
        raise
    return run


def _note_changes(saved: dict[str, object], recipe: Recipe, run: Path, num_images: int) -> None:
    """Say and write down what differs from the recipe of the state: quality may jump where it changes."""
    current = json.loads(json.dumps(asdict(recipe)))
    changes = {name: [saved.get(name), now] for name, now in current.items() if saved.get(name) != now}
    if not changes:
        return
    told = "; ".join(f"{name}: {old!r} → {new!r}" for name, (old, new) in changes.items())
    _logger.warning("the run continues under another recipe than its last state: %s", told)
    with (run / CHANGES_FILE).open("a") as stream:
        stream.write(json.dumps({"num_images": num_images, "changes": changes}) + "\n")


class _Loop:
    """Step, tick, snapshot, save, until the schedule is done."""

    def __init__(
        self,
        request: TrainRequest,
        game: Game,
        context: StepContext,
        stream: BatchStream,
        run: Path,
        dataset: ImageDataset,
        on_progress: Report,
    ) -> None:
        self.schedule = request.schedule
        self.scoring, self.data = request.scoring, request.data
        self.game = game
        self.context = context
        self.stream = stream
        self.folder = run
        self.labels = pick_labels(dataset, seed=game.recipe.seed)
        pixels, _ = dataset[list(range(0, dataset.num_stored, max(dataset.num_stored // 64, 1)))]
        self.real_spread = image_spread(pixels.float() / 127.5 - 1)
        self.on_progress = on_progress
        self.started_s = game.elapsed_s
        self.first_image = game.num_images
        self.watch = Stopwatch()
        self.saved_s = 0.0
        self.tick = game.num_images // self.tick_images

    @property
    def tick_images(self) -> int:
        return max(int(self.schedule.tick_kimg * 1000), 1)

    def run(self, wish: StopRequest) -> TrainResult:
        total = int(self.schedule.kimg * 1000)
        while self.game.num_images < total:
            if wish.signal is not None:
                self._save()
                raise InterruptedRunError(
                    f"Stopped by {wish.signal} after {self.game.num_images} images; the state is saved. "
                    f"Repeat the command with --resume {self.folder} to continue."
                )
            self._step()
            if self.game.num_images // self.tick_images > self.tick or self.game.num_images >= total:
                self._finish_tick(total)
        self._save()
        snapshot = self._write_snapshot()
        return TrainResult(self.folder, snapshot, self.game.num_images, self.game.elapsed_s)

    def _step(self) -> None:
        waiting = Stopwatch()
        pixels, labels = self.stream.next_batch()
        self.game.record("ms/data_wait", torch.tensor(waiting.lap_ms()))
        device = self.game.path_length_mean.device
        images = pixels.to(device, non_blocking=True).float() / 127.5 - 1
        take_step(self.game, RealBatch(images, labels.to(device, non_blocking=True)), self.context)
        self.game.record("ms/step", torch.tensor(waiting.lap_ms()))
        self.game.elapsed_s = self.started_s + self.watch.elapsed_s

    def _finish_tick(self, total: int) -> None:
        self.tick = self.game.num_images // self.tick_images
        statistics = summarize(self.game.records)
        self.game.records.clear()
        seen = self.game.num_images - self.first_image
        rate = seen / max(self.watch.elapsed_s, 1e-9)
        players = self.game.players
        self.context.peers.check_equal([*players.generator.parameters(), *players.discriminator.parameters()])
        if not self.context.peers.is_first:
            return
        line: dict[str, object] = {
            **statistics,
            "augment/p": single(self.game.augment.p),
            "images_per_s": single(rate),
            "peak_bytes": single(read_peak_bytes()),
            "num_images": self.game.num_images,
            "elapsed_s": self.game.elapsed_s,
        }
        append_line(self.folder, line)
        self._check_health(statistics)
        remaining_s = (total - self.game.num_images) / rate
        self.on_progress(describe_tick(self.game, statistics, images_per_s=rate, remaining_s=remaining_s))
        if self.tick % self.schedule.snap == 0 and self.game.num_images < total:
            self._write_snapshot()
            self._save()
        elif self.watch.elapsed_s - self.saved_s > self.schedule.save_minutes * 60:
            self._save()

    def _check_health(self, statistics: Statistics) -> None:
        generator = self.game.players.generator
        spread = fake_spread(generator, self.labels[0], seed=self.game.recipe.seed) / self.real_spread
        ailments = find_ailments(statistics, spread=spread, num_images=self.game.num_images)
        stop_if_ill(ailments, resume=str(self.folder))

    def _write_snapshot(self) -> Path:
        path = snapshot_path(self.folder, self.game.num_images)
        if self.context.peers.is_first:
            save_snapshot(self.game.players, path)
            picture = self.folder / f"fakes{self.game.num_images // 1000:06d}.png"
            write_fakes(self.game.players.average, self.labels, picture, seed=self.game.recipe.seed)
            if self.scoring is not None:
                self.context.on_phase("metrics")
                scores = score_snapshot(path, self.data, self.scoring, num_images=self.game.num_images)
                self.on_progress(describe_scores(scores))
        return path

    def _save(self) -> None:
        self.saved_s = self.watch.elapsed_s
        if self.context.peers.is_first:
            save_state(self.game, self.folder / STATE_FILE)
