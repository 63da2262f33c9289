"""Load a checkpoint of any format as networks."""

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from torch import nn

from gantune.checkpoints.catalogue import identify_format
from gantune.checkpoints.checkpoint_file import CheckpointFile
from gantune.checkpoints.content import CheckpointContent, Role
from gantune.checkpoints.restore import restore_network
from gantune.errors import CheckpointError, UnsupportedError

# What a reader meets in weights of unexpected rank, number or kind.
_MISFIT = (LookupError, TypeError, ValueError, ArithmeticError, RuntimeError)


@dataclass(frozen=True)
class Checkpoint:
    """The networks of a checkpoint; `generator` is the averaged (EMA) one where there is one.

    `format` names the format. `refused` gives, for a network that stands in the file and was not loaded, the
    reason. `metadata` holds what else the file says, as plain values.
    """

    generator: nn.Module
    raw_generator: nn.Module | None
    discriminator: nn.Module | None
    metadata: Mapping[str, object]
    format: str
    refused: Mapping[Role, str]


def load(path: str | PathLike[str]) -> nn.Module:
    """Load the generator of a checkpoint: the averaged (EMA) one where there is one.

    It is in eval mode, float32, on the CPU, and satisfies `gantune.networks.contract.Network`. No code in the
    file is run. Raises `CheckpointError` for a file that is refused.
    """
    return _restore_generator(path, read_content(path))


def load_checkpoint(path: str | PathLike[str]) -> Checkpoint:
    """Load every network of a checkpoint; one beside the generator that cannot be used is None, with its
    reason.

    Raises `CheckpointError` where the generator cannot be used.
    """
    content = read_content(path)
    networks: dict[Role, nn.Module] = {
        "generator": _restore_generator(path, content),
    }
    refused = dict(content.refused)
    for role in ("raw_generator", "discriminator"):
        if role in content.networks:
            try:
                networks[role] = restore_network(content.networks[role], role)
            except (CheckpointError, UnsupportedError) as error:
                # The generator stands on its own; the reason is kept for whoever asks for this one.
                refused[role] = str(error)
    return Checkpoint(
        networks["generator"],
        networks.get("raw_generator"),
        networks.get("discriminator"),
        content.metadata,
        content.format,
        refused,
    )


def _restore_generator(path: str | PathLike[str], content: CheckpointContent) -> nn.Module:
    try:
        return restore_network(content.networks["generator"], "generator")
    except CheckpointError as error:
        raise CheckpointError(f"{path}: {error}") from error


def read_content(path: str | PathLike[str]) -> CheckpointContent:
    """Read families, configurations and weights from a checkpoint, without building networks.

    Raises `CheckpointError` for a file that is missing, of no known format, damaged or hostile.
    """
    file = CheckpointFile(Path(path))
    try:
        return identify_format(file).read(file)
    except OSError as error:
        raise CheckpointError(f"{file.path} cannot be read ({error.strerror}).") from error
    except CheckpointError as error:
        if str(file.path) in str(error):
            raise
        raise CheckpointError(f"{file.path}: {error}") from error
    except _MISFIT as error:
        raise CheckpointError(
            f"{file.path} is damaged: its parts are not what its format needs ({error!r})."
        ) from error
