"""Try candidates: each one's images against the original's, then all of them against the clock."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from gantune.errors import QualityError, ScriptError
from gantune.measuring import ArtifactSource, CheckpointSource, Subject, run_subject, tuned_baseline
from gantune.optimizing.build import count_threads, is_allocator_tuned
from gantune.quality.paired import compare_images
from gantune.records.candidate import ImageQuality
from gantune.records.interface import OutputSpec
from gantune.records.plan import PlannedCandidate
from gantune.runtime.sampling import Array

Images = NDArray[np.float32]


class QualityResult(BaseModel):
    """How one candidate's images compare; `reason` says why there is no figure."""

    model_config = ConfigDict(frozen=True)

    name: str
    quality: ImageQuality | None = None
    reason: str = ""


def run_original(source: CheckpointSource, arrays: Mapping[str, Array], *, threads: int) -> Images:
    """Run the untouched network in the reference form, in a process of its own."""
    return run_subject(tuned_baseline(source, threads=threads), arrays)


def artifact_subject(planned: PlannedCandidate, artifact_dir: Path, *, threads: int) -> Subject:
    """Describe a built candidate as it will run: its own threads and allocator, else `threads`."""
    return Subject(
        name=planned.name,
        source=ArtifactSource(directory=artifact_dir, tune_allocator=is_allocator_tuned(planned)),
        threads=count_threads(planned, threads),
    )


def judge_images(
    subject: Subject, arrays: Mapping[str, Array], expected: Images, output: OutputSpec, keep: Path
) -> QualityResult:
    """Run a candidate on the test inputs, keep its images in the file `keep`, and compare them.

    A candidate that refuses, dies or gives values that are not finite has no figures but a reason.
    """
    try:
        images = run_subject(subject, arrays)
        quality = compare_images(images, expected, value_range=output.value_range)
    except (ScriptError, QualityError) as error:
        return QualityResult(name=subject.name, reason=str(error))
    keep.parent.mkdir(parents=True, exist_ok=True)
    np.save(keep, images, allow_pickle=False)
    return QualityResult(name=subject.name, quality=quality)


def count_samples(arrays: Mapping[str, Array]) -> int:
    """Count the samples of a batch of inputs."""
    return max(int(array.shape[0]) for array in arrays.values() if array.ndim > 0)


def slice_sample(arrays: Mapping[str, Array], index: int) -> dict[str, Array]:
    """Take one sample, keeping the batch dimension."""
    return {name: array[index : index + 1] if array.ndim else array for name, array in arrays.items()}
