"""Small data sets and recipes that the tests of training share."""

import io
import json
import zipfile
from pathlib import Path

import numpy as np
from PIL import Image

from gantune.training import AugmentOptions, NetworkShape, Recipe, Schedule, SpeedOptions, TrainRequest


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


def small_request(folder: Path, *, kimg: float = 0.08, resume: Path | None = None, **changes) -> TrainRequest:
    """A request of ten steps on random pictures in `folder`."""
    data = folder / "data.zip"
    if not data.exists():
        write_dataset(data)
    return TrainRequest(
        data=data,
        outdir=folder / "runs",
        recipe=small_recipe(**changes),
        schedule=Schedule(kimg=kimg, tick_kimg=0.016, snap=2),
        speed=SpeedOptions(workers=0),
        resume=resume,
    )
