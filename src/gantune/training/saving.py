"""Save a run so that it continues bit-equal, and its networks so that everything else can load them."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from gantune.checkpoints.content import CheckpointContent, NetworkContent, Role
from gantune.checkpoints.loading import load_checkpoint
from gantune.checkpoints.safetensors_file import write_safetensors
from gantune.errors import CheckpointError, StorageError, UsageError
from gantune.machine.whole_files import write_whole
from gantune.training.augment import AugmentState
from gantune.training.game import Game
from gantune.training.loss_scale import LossScale
from gantune.training.players import Players

STATE_VERSION = 1
_KEY = "gantune_training"


def save_state(game: Game, path: Path) -> None:
    """Write everything that the next step depends on, whole or not at all."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in _state_tensors(game).items()}
    numbers = {
        "version": STATE_VERSION,
        "step": game.step,
        "num_images": game.num_images,
        "elapsed_s": game.elapsed_s,
        "data": game.data,
        "augment": asdict(game.augment),
        "loss_scales": {learner: asdict(scale) for learner, scale in game.loss_scales.items()},
        "recipe": asdict(game.recipe),
    }
    try:
        with write_whole(path, is_synced=True) as partial:
            save_file(tensors, partial, metadata={_KEY: json.dumps(numbers)})
    except (OSError, SafetensorError) as error:
        raise StorageError(f"{path} could not be written ({error}); the last state is kept.") from error


def load_state(game: Game, path: Path) -> dict[str, object]:
    """Continue from a saved state and return the recipe that it was saved under.

    Raise `CheckpointError` where the file is damaged or belongs to other networks, `UsageError` where it was
    trained on other data.
    """
    try:
        with safe_open(path, framework="pt") as stored:
            numbers = json.loads((stored.metadata() or {})[_KEY])
            tensors = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, KeyError, ValueError) as error:
        raise CheckpointError(f"{path} is not the state of a training run ({error}).") from error
    if numbers["version"] != STATE_VERSION:
        raise CheckpointError(
            f"{path} has version {numbers['version']}; this gantune continues {STATE_VERSION}."
        )
    # States written before the data had a fingerprint have none.
    if game.data is not None and numbers.get("data") not in (None, game.data):
        raise UsageError(
            f"The run in {path.parent} was trained on other pictures than those of --data: name the data it "
            "began with, or begin a new run on these with --resume and one of its network-snapshot files."
        )
    _restore_tensors(game, tensors, path)
    game.step, game.num_images = int(numbers["step"]), int(numbers["num_images"])
    game.elapsed_s = float(numbers["elapsed_s"])
    game.augment = AugmentState(**numbers["augment"])
    # States written before float16 was there have none.
    scales: dict[str, dict[str, Any]] = numbers.get("loss_scales", {})
    game.loss_scales |= {learner: LossScale(**kept) for learner, kept in scales.items()}
    recipe: dict[str, object] = numbers["recipe"]
    return recipe


def save_snapshot(players: Players, path: Path) -> None:
    """Write the averaged generator, the generator and the discriminator as a checkpoint."""
    networks: dict[Role, NetworkContent] = {
        "generator": _content(players.average),
        "raw_generator": _content(players.generator),
        "discriminator": _content(players.discriminator),
    }
    write_safetensors(CheckpointContent("gantune-training", networks), path, overwrite=True)


def load_weights(players: Players, path: Path) -> None:
    """Start from the networks of a checkpoint; those it lacks stay as they are.

    Raise `CheckpointError` where they are of another shape.
    """
    checkpoint = load_checkpoint(path)
    _copy_weights(checkpoint.raw_generator or checkpoint.generator, players.generator, path)
    _copy_weights(checkpoint.generator, players.average, path)
    if checkpoint.discriminator is not None:
        _copy_weights(checkpoint.discriminator, players.discriminator, path)


def _copy_weights(source: nn.Module, target: nn.Module, path: Path) -> None:
    state = source.state_dict()
    wanted = target.state_dict()
    misfits = [
        name for name, tensor in wanted.items() if name not in state or state[name].shape != tensor.shape
    ]
    if misfits or len(state) != len(wanted):
        shown = ", ".join(misfits[:3]) or "weights that are left over"
        raise CheckpointError(
            f"The networks in {path} do not have the shape of this recipe ({shown}); give the same --cfg, "
            "--cbase, --cmax, --map-depth, --latent-dim, data resolution and labels."
        )
    target.load_state_dict(state)


def _content(network: nn.Module) -> NetworkContent:
    family, config = network.family, network.config
    assert isinstance(family, str)
    assert isinstance(config, dict)
    state = {name: tensor.detach().cpu() for name, tensor in network.state_dict().items()}
    return NetworkContent(family, config, state)


def _modules(game: Game) -> dict[str, nn.Module]:
    players = game.players
    return {
        "generator": players.generator,
        "discriminator": players.discriminator,
        "average": players.average,
    }


def _optimizers(game: Game) -> dict[str, torch.optim.Optimizer]:
    return {"g_optimizer": game.g_optimizer, "d_optimizer": game.d_optimizer}


def _state_tensors(game: Game) -> dict[str, Tensor]:
    tensors = {"path_length_mean": game.path_length_mean}
    for role, network in _modules(game).items():
        tensors |= {f"{role}.{name}": tensor for name, tensor in network.state_dict().items()}
    for role, optimizer in _optimizers(game).items():
        for index, moments in optimizer.state_dict()["state"].items():
            tensors |= {f"{role}.{index}.{name}": tensor for name, tensor in moments.items()}
    return tensors


def _restore_tensors(game: Game, tensors: dict[str, Tensor], path: Path) -> None:
    def part(prefix: str) -> dict[str, Tensor]:
        start = f"{prefix}."
        return {name.removeprefix(start): item for name, item in tensors.items() if name.startswith(start)}

    for role, network in _modules(game).items():
        state, wanted = part(role), network.state_dict()
        if {name: item.shape for name, item in state.items()} != {
            name: item.shape for name, item in wanted.items()
        }:
            raise CheckpointError(
                f"The {role} in {path} has another shape than this recipe asks for; resume with the options "
                "that the run began with."
            )
        network.load_state_dict(state)
    for role, optimizer in _optimizers(game).items():
        _restore_optimizer(optimizer, part(role))
    game.path_length_mean.copy_(tensors["path_length_mean"])


def _restore_optimizer(optimizer: torch.optim.Optimizer, saved: dict[str, Tensor]) -> None:
    parameters: list[Tensor] = optimizer.param_groups[0]["params"]
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in saved.items():
        number, _, kind = name.partition(".")
        parameter = parameters[int(number)]
        # A fused optimizer walks parameter and moments in one order of memory.
        in_order = torch.empty_like(parameter).copy_(tensor) if tensor.shape == parameter.shape else tensor
        state.setdefault(int(number), {})[kind] = in_order
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
