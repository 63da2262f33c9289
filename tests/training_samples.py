"""Small data sets and recipes that the tests of training share."""

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from gantune.training import AugmentOptions, NetworkShape, Recipe, Schedule, SpeedOptions, TrainRequest
from gantune.training.batches import seed_generator
from gantune.training.dealing import deal
from gantune.training.game import Game, start_game
from gantune.training.layout import keep_channels_last
from gantune.training.peers import Peers
from gantune.training.phases import plan_phases
from gantune.training.players import build_players
from gantune.training.scoring import Scoring
from gantune.training.shapes import ImageShape
from gantune.training.step import RealBatch, StepContext, take_step


def write_dataset(path: Path, *, count: int = 24, size: int = 8, channels: int = 1, classes: int = 3) -> Path:
    """Write a ZIP of random pictures with labels, as the field lays it out."""
    generator = np.random.default_rng(0)
    labels = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for index in range(count):
            shape = (size, size) if channels == 1 else (size, size, 3)
            stream = io.BytesIO()
            Image.fromarray(generator.integers(0, 256, shape, dtype=np.uint8)).save(stream, format="PNG")
            name = f"00000/img{index:08d}.png"
            archive.writestr(name, stream.getvalue())
            labels.append([name, index % classes])
        archive.writestr("dataset.json", json.dumps({"labels": labels}))
    return path


def small_recipe(**changes) -> Recipe:
    """A recipe whose step takes milliseconds, with every phase due often."""
    options = {
        "shape": NetworkShape(channel_base=64, channel_max=8, latent_dim=8, map_depth=2),
        "augment": AugmentOptions(kind="ada", p=0.3, ada_kimg=0.1, interval=2),
        "batch": 8,
        "g_reg_interval": 2,
        "d_reg_interval": 3,
        "cond": True,
    }
    return Recipe(**(options | changes))


def two_process_recipe(cfg: str) -> Recipe:
    """A recipe whose batch splits into two parts of whole groups."""
    if cfg == "stylegan2":
        return small_recipe(batch=16)
    shape = NetworkShape(cfg=cfg, channel_base=128, channel_max=16, latent_dim=8)
    return small_recipe(batch=16, shape=shape, loss="hinge", augment=AugmentOptions(kind="none"))


def small_request(
    folder: Path, *, kimg: float = 0.08, resume: Path | None = None, scoring: Scoring | None = None, **changes
) -> TrainRequest:
    """A request of ten steps on random pictures in `folder`."""
    data = folder / "data.zip"
    if not data.exists():
        write_dataset(data)
    return TrainRequest(
        data=data,
        outdir=folder / "runs",
        recipe=small_recipe(**changes),
        schedule=Schedule(kimg=kimg, tick_kimg=0.016, snap=2),
        speed=SpeedOptions(workers=0, probe_memory=False),
        resume=resume,
        scoring=scoring,
    )


def steps_on_random_images(
    recipe: Recipe,
    num_steps: int,
    *,
    peers: Peers | None = None,
    speed: SpeedOptions | None = None,
    on_phase: Callable[[str], None] = lambda _: None,
) -> Game:
    """Take steps on random images of 8² and labels of 3 classes, dealt as a run deals them."""
    peers, speed = peers or Peers(), speed or SpeedOptions(workers=0)
    players = build_players(recipe.shape, ImageShape(8, 1, 3), seed=recipe.seed)
    if speed.channels_last:
        keep_channels_last(players.generator)
        keep_channels_last(players.discriminator)
    game = start_game(players, recipe, fused_optimizer=speed.fused_optimizer)
    labels = torch.eye(3)
    context = StepContext(plan_phases(recipe, players.generator), speed, peers, labels, on_phase)
    group = recipe.shape.mbstd_group
    for step in range(num_steps):
        rng = seed_generator(99, step)
        batch = {
            "images": torch.rand(recipe.batch, 1, 8, 8, generator=rng) * 2 - 1,
            "labels": labels[torch.randint(3, (recipe.batch,), generator=rng)],
        }
        share = deal(batch, part=peers.rank, num_parts=peers.world_size, group_size=group)
        take_step(game, RealBatch(share["images"], share["labels"]), context)
    return game
