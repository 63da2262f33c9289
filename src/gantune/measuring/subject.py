"""What is measured: an artifact or an original network, with the environment its process gets."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from gantune.machine import TUNED_ALLOCATOR


class ArtifactSource(BaseModel):
    """An artifact, run as it ships: through `gantune.runtime`."""

    model_config = ConfigDict(frozen=True)

    kind: Literal["artifact"] = "artifact"
    directory: Path
    tune_allocator: bool = False


class CheckpointSource(BaseModel):
    """The generator of a checkpoint, run by torch in one form of gantune's operations.

    With `is_channels_last` its weights, and so its activations, are channels-last; with `is_autocast` torch
    computes its convolutions and products in bfloat16.
    """

    model_config = ConfigDict(frozen=True)

    kind: Literal["checkpoint"] = "checkpoint"
    path: Path
    implementation: str = "reference"
    is_channels_last: bool = False
    is_autocast: bool = False


class FamilySource(BaseModel):
    """A generator with random weights, drawn from `seed`, run by torch in one form of the operations."""

    model_config = ConfigDict(frozen=True)

    kind: Literal["family"] = "family"
    family: str
    config: dict[str, JsonValue]
    seed: int = 0
    implementation: str = "reference"


Source = ArtifactSource | CheckpointSource | FamilySource


class Subject(BaseModel):
    """One thing to measure in its own process.

    `threads` None leaves the number to the engine; `environment` is set for the process, whose variables that
    tune the allocator are cleared first.
    """

    model_config = ConfigDict(frozen=True)

    name: str = Field(min_length=1)
    source: Annotated[Source, Field(discriminator="kind")]
    threads: int | None = Field(default=None, ge=1)
    environment: dict[str, str] = {}


def as_is_baseline(source: Source, *, threads: int | None = None) -> Subject:
    """Describe the original as its users have it: glibc's allocator untuned."""
    return Subject(name="as_is", source=source, threads=threads)


def tuned_baseline(source: Source, *, threads: int | None = None) -> Subject:
    """Describe the original with the allocator tuned by environment variables."""
    return Subject(name="tuned", source=source, threads=threads, environment=dict(TUNED_ALLOCATOR))
