"""The main job in one call."""

import tempfile
from collections.abc import Callable
from dataclasses import replace
from os import PathLike
from pathlib import Path

from torch import nn

from gantune.checkpoints.content import CheckpointContent, NetworkContent
from gantune.checkpoints.safetensors_file import write_safetensors
from gantune.errors import UsageError
from gantune.networks.contract import Network
from gantune.optimizing.loop import Result, run_plan
from gantune.optimizing.options import OptimizeOptions
from gantune.optimizing.planning import make_plan
from gantune.quality.gate import Budget


def optimize(
    network_or_path: nn.Module | str | PathLike[str],
    target: str = "cpu",
    budget: Budget | None = None,
    out: str | PathLike[str] = "gantune-run",
    *,
    options: OptimizeOptions | None = None,
    overwrite: bool = False,
    on_progress: Callable[[str], None] = lambda _: None,
) -> Result:
    """Make a generator fast on this machine, prove it, and write a run folder to `out`.

    `network_or_path` is a checkpoint's path or a network of one of gantune's families. `budget` None is
    40 dB; `options` holds everything else that `gantune optimize` takes, and its target and budget give way
    to the ones named here. The original is kept, `best` None, where nothing is faster inside the budget.
    Raises `CheckpointError` for a refused file, `UsageError` for options that do not fit, `StorageError`
    where `out` is taken.
    """
    chosen = replace(options or OptimizeOptions(), target=target)
    if budget is not None:
        chosen = replace(chosen, budget=budget)
    if not isinstance(network_or_path, nn.Module):
        path = Path(network_or_path)
        return run_plan(
            path, make_plan(path, chosen), Path(out), overwrite=overwrite, on_progress=on_progress
        )
    with tempfile.TemporaryDirectory(prefix="gantune-network-") as folder:
        path = Path(folder) / "network.safetensors"
        write_network(network_or_path, path)
        return run_plan(
            path, make_plan(path, chosen), Path(out), overwrite=overwrite, on_progress=on_progress
        )


def write_network(network: nn.Module, path: Path) -> None:
    """Write a network of one of gantune's families as safetensors; raise `UsageError` for any other."""
    if not isinstance(network, Network):
        raise UsageError(
            f"A {type(network).__name__} says neither its family nor its inputs, so it cannot be optimized. "
            "Give the path of its checkpoint, or a network that gantune.load returned."
        )
    content = NetworkContent(network.family, network.config, dict(network.state_dict()))
    write_safetensors(CheckpointContent("module", {"generator": content}), path)
