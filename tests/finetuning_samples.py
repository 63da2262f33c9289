"""A small generator with its discriminator and data, ready to be fine-tuned."""

from pathlib import Path

import torch
from torch import nn

from gantune.checkpoints.content import CheckpointContent, NetworkContent, Role
from gantune.checkpoints.safetensors_file import write_safetensors
from gantune.optimizing.finetuning import Pupil
from gantune.optimizing.finetuning_data import open_lessons
from gantune.optimizing.finetuning_options import FinetuneOptions
from gantune.optimizing.quantization_candidates import calibrate_for_engine
from gantune.optimizing.quantization_options import QuantizationRun
from gantune.training.options import NetworkShape
from gantune.training.players import Players, build_players
from gantune.training.shapes import ImageShape
from gantune.transforms.quantize import QuantizeOptions, quantize
from training_samples import write_dataset

CLASSES = 3
SIZE = 16
W4A4 = QuantizeOptions(weight_bits=4, activation_bits=4)


def small_players(cfg: str) -> Players:
    """Networks of 16² and one channel, with random weights."""
    shape = NetworkShape(cfg=cfg, channel_base=128, channel_max=16, latent_dim=8, map_depth=2)  # type: ignore[arg-type]
    players = build_players(shape, ImageShape(SIZE, 1, CLASSES), seed=0)
    if cfg == "dcgan":
        # Weights of 0.02 make images of almost nothing; these vary.
        with torch.no_grad():
            for parameter in players.average.parameters():
                parameter.mul_(5.0)
    players.generator.load_state_dict(players.average.state_dict())
    return players


def write_snapshot(folder: Path, cfg: str = "stylegan2", *, has_discriminator: bool = True) -> Path:
    """Write a checkpoint as a training run does."""
    players = small_players(cfg)
    networks: dict[Role, NetworkContent] = {"generator": _content(players.average)}
    if has_discriminator:
        networks["discriminator"] = _content(players.discriminator)
    path = folder / f"{cfg}.safetensors"
    write_safetensors(CheckpointContent("gantune-training", networks), path, overwrite=True)
    return path


def _content(network: nn.Module) -> NetworkContent:
    return NetworkContent(str(network.family), network.config, dict(network.state_dict()))  # type: ignore[arg-type]


def write_data(folder: Path, *, size: int = SIZE, classes: int = CLASSES) -> Path:
    """Write pictures that fit those networks."""
    return write_dataset(folder / f"data{size}x{classes}.zip", size=size, classes=classes)


def small_run(data: Path, **changes: object) -> QuantizationRun:
    """Ask for a few quick steps."""
    values: dict[str, object] = {"kimg": 0.016 * 8, "batch": 8, "num_ticks": 4}
    options = FinetuneOptions(data=data, **(values | changes))  # type: ignore[arg-type]
    return QuantizationRun(scheme=W4A4, observer="mse", num_samples=8, threads=1, finetune=options)


def small_pupil(folder: Path, run: QuantizationRun, cfg: str = "stylegan2") -> tuple[Pupil, object]:
    """Prepare and round the small generator, and open what it learns from."""
    assert run.finetune is not None
    path = write_snapshot(folder, cfg)
    network: nn.Module = small_players(cfg).average
    prepared = calibrate_for_engine(network, run)
    rounded = quantize(prepared.network, prepared.calibration, run.scheme)
    lessons = open_lessons(path, network, run.finetune)
    return Pupil(prepared.network, rounded, lessons.discriminator), lessons.dataset
