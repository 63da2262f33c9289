"""What a checkpoint holds once its format has been read: networks by role."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from torch import Tensor

from gantune.checkpoints.checkpoint_file import CheckpointFile
from gantune.networks.contract import Config

Role = Literal["generator", "raw_generator", "discriminator"]
"""`generator` is the averaged (EMA) one where there is one; `raw_generator` the one training updates."""

ROLES: tuple[Role, ...] = ("generator", "raw_generator", "discriminator")


@dataclass(frozen=True)
class NetworkContent:
    """One network: its family, that family's constructor arguments, and its weights by state-dict name."""

    family: str
    config: Config
    state: dict[str, Tensor]


@dataclass(frozen=True)
class CheckpointContent:
    """Everything gantune takes from a checkpoint; `metadata` holds plain JSON values for the user to read.

    `refused` says, for a role that stands in the file and could not be read, the reason in one sentence.
    """

    format: str
    networks: dict[Role, NetworkContent]
    metadata: dict[str, object] = field(default_factory=dict)
    refused: dict[Role, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Format:
    """One way checkpoints lie on disk.

    `recognizes` looks at the content of the file, never at its suffix, and never raises for a file of another
    format. `read` raises `CheckpointError` for a recognized file that cannot be used.
    """

    name: str
    description: str
    recognizes: Callable[[CheckpointFile], bool]
    read: Callable[[CheckpointFile], CheckpointContent]
