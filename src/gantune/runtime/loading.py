"""Load an artifact and call it: numpy arrays in, numpy array out."""

from functools import cached_property
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gantune.errors import UsageError
from gantune.records.artifact import Artifact
from gantune.records.interface import InputSpec, OutputSpec
from gantune.runtime.allocator import AllocatorTuning, return_free_memory, tune_allocator
from gantune.runtime.artifact_files import read_artifact
from gantune.runtime.engines import Session, open_session
from gantune.runtime.inputs import InputValue, prepare_inputs

_DEFAULT_ALLOCATOR = AllocatorTuning(is_applied=False, reason="not asked for")


class LoadedArtifact:
    """Run an artifact: `loaded(z=array)` returns the images [N, C, H, W] or vectors, float32.

    `artifact` is its record; `allocator` says whether the allocator was tuned.
    """

    def __init__(self, artifact: Artifact, session: Session, *, allocator: AllocatorTuning) -> None:
        self.artifact = artifact
        self.allocator = allocator
        self._session = session

    @property
    def inputs(self) -> tuple[InputSpec, ...]:
        """List the inputs, in order."""
        return self.artifact.inputs

    @property
    def output(self) -> OutputSpec:
        """Describe the output."""
        return self.artifact.output

    @cached_property
    def precision_used(self) -> str:
        """Give the dense layers' precision as read back from the engine, such as "bf16 ×30, fp32 ×2"."""
        return self._session.read_precision()

    def __call__(self, **inputs: InputValue) -> NDArray[np.float32]:
        """Run any batch size; scalars may be left out or be Python floats.

        Raises UsageError in one sentence where an input does not fit.
        """
        return self._session.run(prepare_inputs(self.artifact.inputs, inputs))


def load(
    artifact_dir: str | PathLike[str], *, threads: int | None = None, tune_allocator: bool = False
) -> LoadedArtifact:
    """Load the artifact in a folder; `threads` None leaves their number to the engine.

    `tune_allocator` keeps large tensors in glibc's heap for this whole process, which is faster and takes
    more memory; where that cannot be done a warning is logged and `.allocator` says why. Raises
    CheckpointError for a damaged or hostile artifact, UnavailableError where its engine is not installed. An
    artifact for AOTInductor is machine code: load only one you trust.
    """
    if threads is not None and threads < 1:
        raise UsageError(f"threads is {threads}; it must be at least 1, or None for the engine's default")
    directory = Path(artifact_dir)
    artifact = read_artifact(directory)
    session = open_session(artifact, directory, threads=threads)
    # What loading has freed goes back first: a tuned allocator keeps all it has.
    return_free_memory()
    allocator = _tune() if tune_allocator else _DEFAULT_ALLOCATOR
    return LoadedArtifact(artifact, session, allocator=allocator)


_tune = tune_allocator
