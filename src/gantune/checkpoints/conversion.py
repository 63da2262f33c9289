"""Convert a checkpoint of any format to safetensors, and compare the two networks' outputs."""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import torch
from torch import Tensor, nn

from gantune.checkpoints.content import CheckpointContent, NetworkContent, Role
from gantune.checkpoints.loading import load, load_checkpoint
from gantune.checkpoints.restore import network_config
from gantune.checkpoints.safetensors_file import refuse_place, write_safetensors
from gantune.errors import QualityError, StorageError

TOLERANCE = 1e-4
_NUM_SAMPLES = 2
_SEED = 0


@dataclass(frozen=True)
class Conversion:
    """What was written, and the largest difference between the outputs of the original and the copy.

    `max_abs` is at most `bound` = 1e-4 · max(1, max |original|).
    """

    out: Path
    source_format: str
    networks: tuple[Role, ...]
    max_abs: float
    bound: float


def convert(path: str | PathLike[str], out: str | PathLike[str], *, overwrite: bool = False) -> Conversion:
    """Write the networks of the checkpoint at `path` to `out` as safetensors, and check the copy on fixed
    inputs.

    Raises `CheckpointError` where `path` is refused, `StorageError` where `out` exists, is the checkpoint
    itself or cannot be written, and `QualityError` where the copy's generator gives other outputs. What was
    at `out` before is then still there.
    """
    original = load_checkpoint(path)
    target = Path(out)
    refuse_place(target, overwrite=overwrite)
    if target.exists() and target.samefile(path):
        raise StorageError(f"{target} is the checkpoint itself, which is not replaced; choose another name.")
    loaded: dict[Role, nn.Module | None] = {
        "generator": original.generator,
        "raw_generator": original.raw_generator,
        "discriminator": original.discriminator,
    }
    networks: dict[Role, NetworkContent] = {
        role: NetworkContent(str(network.family), network_config(network), dict(network.state_dict()))
        for role, network in loaded.items()
        if network is not None
    }
    expected = _sample_outputs(original.generator)
    bound = TOLERANCE * max(1.0, float(expected.abs().max()))
    differences: list[float] = []

    def check(copy: Path) -> None:
        difference = float((_sample_outputs(load(copy)) - expected).abs().max())
        if not difference <= bound:
            raise QualityError(
                f"The converted generator differs by {difference:.3g}, more than {bound:.3g}; {target} was "
                "not written."
            )
        differences.append(difference)

    content = CheckpointContent(original.format, networks)
    write_safetensors(content, target, overwrite=overwrite, check=check)
    return Conversion(target, original.format, tuple(networks), differences[0], bound)


def _sample_outputs(network: nn.Module) -> Tensor:
    inputs = network.sample_inputs(_NUM_SAMPLES, _SEED)  # type: ignore[operator]
    with torch.inference_mode():
        output: Tensor = network(**inputs)
    return output
