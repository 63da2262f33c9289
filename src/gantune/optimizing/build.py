"""Build a planned candidate: transforms in order, then the engine's artifact."""

import shutil
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict
from torch import nn

from gantune import transforms
from gantune.backends import BuildOptions, find_backend
from gantune.errors import GantuneError, StorageError, UsageError
from gantune.records.artifact import ArtifactEnvironment
from gantune.records.plan import PlannedCandidate, Step

# The transforms' own catalogue, so that a new one can be planned and replayed by being listed there.
TRANSFORMS = {name: getattr(transforms, name) for name in transforms.__all__}


class BuildResult(BaseModel):
    """What came of building one candidate; `reason` is "" where it was built."""

    model_config = ConfigDict(frozen=True)

    name: str
    status: Literal["built", "failed"]
    reason: str = ""
    size_bytes: int = 0


def apply_transforms(network: nn.Module, steps: tuple[Step, ...]) -> nn.Module:
    """Apply the transform steps in order, each on a copy; raise `UsageError` for an unknown name."""
    for step in steps:
        if step.kind != "transform":
            continue
        if step.name not in TRANSFORMS:
            raise UsageError(f"There is no transform {step.name!r}; there are: {', '.join(TRANSFORMS)}.")
        network = TRANSFORMS[step.name](network, **step.options)
    return network


def build_candidate(
    network: nn.Module, planned: PlannedCandidate, artifact_dir: Path, *, threads: int
) -> BuildResult:
    """Build the artifact of one candidate; a candidate that cannot be built fails alone, with its reason.

    A disk that is full ends the run (`StorageError`), since no other candidate could be built either.
    """
    if artifact_dir.exists():
        shutil.rmtree(artifact_dir)
    is_tuned = any(step.kind == "environment" and step.options.get("tuned") for step in planned.steps)
    options = BuildOptions(
        precision=planned.precision,
        environment=ArtifactEnvironment(threads=threads, allocator="tuned" if is_tuned else "default"),
    )
    try:
        transformed = apply_transforms(network, planned.steps)
        artifact = find_backend(planned.engine).build(transformed, artifact_dir, options)
    except StorageError:
        raise
    except GantuneError as error:
        return BuildResult(name=planned.name, status="failed", reason=str(error))
    return BuildResult(name=planned.name, status="built", size_bytes=artifact.size_bytes)
