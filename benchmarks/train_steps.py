"""One configuration of `bench_train.py`: takes steps of training when its standard input says so."""

import io
import json
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import psutil
import torch
from PIL import Image

from gantune.measuring.live_bytes import LiveBytes
from gantune.measuring.process_facts import read_peak_bytes
from gantune.measuring.stopwatch import Stopwatch
from gantune.runtime.allocator import tune_allocator
from gantune.training import AugmentOptions, NetworkShape, Recipe, SpeedOptions
from gantune.training.batches import BatchSchedule, BatchStream, Share
from gantune.training.dataset import ImageDataset
from gantune.training.game import start_game
from gantune.training.layout import keep_channels_last
from gantune.training.peers import Peers
from gantune.training.phases import plan_phases
from gantune.training.players import build_players
from gantune.training.shapes import ImageShape
from gantune.training.step import RealBatch, StepContext, take_step

STEPS_A_ROUND = 4


def write_pictures(path: Path, *, count: int, size: int) -> None:
    generator = np.random.default_rng(0)
    with zipfile.ZipFile(path, "w") as archive:
        for index in range(count):
            small = Image.fromarray(generator.integers(0, 256, (8, 8, 3), dtype=np.uint8))
            stream = io.BytesIO()
            small.resize((size, size), Image.Resampling.BICUBIC).save(stream, format="PNG")
            archive.writestr(f"{index:04d}.png", stream.getvalue())


class Steps:
    """A game, its data and the switches under which steps are taken."""

    def __init__(self, subject: dict[str, object], switches: dict[str, object], folder: Path) -> None:
        torch.set_num_threads(2)
        resolution, batch = int(str(subject["resolution"])), int(str(subject["batch"]))
        write_pictures(folder / "data.zip", count=64, size=resolution)
        shape = NetworkShape(
            cfg=subject["cfg"],
            channel_base=subject["channel_base"],
            channel_max=subject["channel_max"],
            latent_dim=128,
            map_depth=2,
        )
        recipe = Recipe(
            shape=shape,
            batch=batch,
            augment=AugmentOptions(kind="ada", p=0.2),
            g_reg_interval=4,
            d_reg_interval=4,
        )
        self.speed = SpeedOptions(**switches)
        if self.speed.tuned_allocator:
            tune_allocator()
        players = build_players(shape, ImageShape(resolution, 3, 0), seed=0)
        if self.speed.channels_last:
            keep_channels_last(players.generator)
            keep_channels_last(players.discriminator)
        self.game = start_game(players, recipe, fused_optimizer=self.speed.fused_optimizer)
        dataset = ImageDataset(folder / "data.zip")
        schedule = BatchSchedule(64, batch=batch, seed=0, share=Share(group_size=4))
        self.stream = BatchStream(dataset, schedule, workers=self.speed.workers)
        self.context = StepContext(
            plan_phases(recipe, players.generator), self.speed, Peers(), torch.zeros(64, 0)
        )

    def step(self) -> None:
        pixels, labels = self.stream.next_batch()
        take_step(self.game, RealBatch(pixels.float() / 127.5 - 1, labels), self.context)

    def losses(self) -> dict[str, float]:
        self.step()
        names = ("loss/generator", "loss/discriminator", "r1_penalty", "path_length")
        # Every backward pass of a step records its part of the batch.
        return {
            name: float(torch.stack(self.game.records[name][: self.speed.accumulation]).mean())
            for name in names
            if name in self.game.records
        }

    def round(self) -> dict[str, float]:
        watch = Stopwatch()
        for _ in range(STEPS_A_ROUND):
            self.step()
        return {"ms": watch.lap_ms() / STEPS_A_ROUND}

    def memory(self) -> dict[str, float]:
        resident = read_peak_bytes()
        state = [*self.game.players.generator.parameters(), *self.game.players.discriminator.parameters()]
        with LiveBytes() as live:
            for _ in range(STEPS_A_ROUND):
                self.step()
        # Weights, average and two moments live all the time.
        always = 4 * sum(item.numel() * item.element_size() for item in state)
        return {"live_bytes": live.peak_bytes + always, "rss_bytes": resident - BEFORE}


BEFORE = psutil.Process().memory_info().rss


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        steps = Steps(json.loads(sys.argv[1]), json.loads(sys.argv[2]), Path(folder))
        orders = {"losses": steps.losses, "round": steps.round, "memory": steps.memory}
        for line in sys.stdin:
            print(json.dumps(orders[line.strip()]()), flush=True)
        steps.stream.close()


if __name__ == "__main__":
    main()
