"""Build a planned candidate: transforms in order, rounding to integers, then the engine's artifact."""

import shutil
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict
from torch import nn

from gantune import transforms
from gantune.backends import BuildOptions, find_backend
from gantune.errors import GantuneError, StorageError, UsageError
from gantune.measuring.form_fallbacks import read_fallbacks
from gantune.ops.choose import collect_fallbacks
from gantune.optimizing.integers import IntegerRun, round_to_integers
from gantune.records.artifact import ArtifactEnvironment, OptionValue
from gantune.records.fallback import FormFallback
from gantune.records.plan import PlannedCandidate, Step

# The transforms' own catalogue, so that a new one can be planned and replayed by being listed there.
TRANSFORMS = {name: getattr(transforms, name) for name in transforms.__all__}


class BuildResult(BaseModel):
    """What came of building one candidate; `reason` is "" where it was built.

    `note` says what else there is to know; `fallbacks` are the slower forms of operations that the artifact
    was built with.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    status: Literal["built", "failed"]
    reason: str = ""
    note: str = ""
    size_bytes: int = 0
    fallbacks: tuple[FormFallback, ...] = ()


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
    network: nn.Module,
    planned: PlannedCandidate,
    artifact_dir: Path,
    *,
    threads: int,
    integers: IntegerRun | None = None,
) -> BuildResult:
    """Build the artifact of one candidate; a candidate that cannot be built fails alone, with its reason.

    `integers` is what a candidate of integers needs to know. A disk that is full ends the run
    (`StorageError`), since no other candidate could be built either.
    """
    if artifact_dir.exists():
        shutil.rmtree(artifact_dir)
    options = BuildOptions(
        precision=planned.precision,
        environment=make_environment(planned, threads),
        engine_options=engine_options(planned),
    )
    note = ""
    with collect_fallbacks():
        try:
            transformed = apply_transforms(network, planned.steps)
            for step in planned.steps:
                if step.kind == "quantize":
                    transformed, note = round_to_integers(transformed, planned.engine, integers)
            artifact = find_backend(planned.engine).build(transformed, artifact_dir, options)
        except StorageError:
            raise
        except GantuneError as error:
            return BuildResult(name=planned.name, status="failed", reason=str(error))
        return BuildResult(
            name=planned.name,
            status="built",
            note=note,
            size_bytes=artifact.size_bytes,
            fallbacks=read_fallbacks(),
        )


def engine_options(planned: PlannedCandidate) -> tuple[tuple[str, OptionValue], ...]:
    """Give what the engine is told beyond the precision: for integers, what the other layers run in."""
    return tuple(
        ("rest_precision", str(step.options.get("rest_precision", "fp32")))
        for step in planned.steps
        if step.kind == "quantize"
    )


def is_allocator_tuned(planned: PlannedCandidate) -> bool:
    """Say whether a candidate runs with a tuned allocator; the last step that speaks of it counts."""
    found = [step for step in planned.steps if (step.kind, step.name) == ("environment", "allocator")]
    return bool(found and found[-1].options.get("tuned"))


def count_threads(planned: PlannedCandidate, default: int) -> int:
    """Give the number of threads that a candidate runs with; the last step that speaks of it counts."""
    found = [step for step in planned.steps if (step.kind, step.name) == ("environment", "threads")]
    return int(found[-1].options["count"]) if found else default


def make_environment(planned: PlannedCandidate, threads: int) -> ArtifactEnvironment:
    """Describe the environment that a candidate is timed in."""
    return ArtifactEnvironment(
        threads=count_threads(planned, threads),
        allocator="tuned" if is_allocator_tuned(planned) else "default",
    )
