"""Paths a user names, as subjects with distinct names."""

from collections.abc import Sequence
from pathlib import Path

from gantune.errors import CheckpointError
from gantune.machine import TUNED_ALLOCATOR
from gantune.measuring.subject import ArtifactSource, CheckpointSource, Subject
from gantune.runtime import read_artifact


def name_subjects(paths: Sequence[Path], *, threads: int, tune_allocator: bool) -> list[Subject]:
    """Make a subject of each path: a folder is an artifact, a file is a checkpoint.

    Names are the last parts of the paths, numbered where they meet. Raises `CheckpointError` for a path where
    there is nothing, and for a folder that is no sound artifact.
    """
    subjects: list[Subject] = []
    for path in paths:
        if not path.exists():
            raise CheckpointError(f"There is nothing at {path}. Name a checkpoint or an artifact folder.")
        if path.is_dir():
            read_artifact(path)
        source = (
            ArtifactSource(directory=path, tune_allocator=tune_allocator)
            if path.is_dir()
            else CheckpointSource(path=path)
        )
        taken = sum(subject.name.split("#")[0] == path.name for subject in subjects)
        name = f"{path.name}#{taken + 1}" if taken else path.name
        environment = dict(TUNED_ALLOCATOR) if tune_allocator and path.is_file() else {}
        subjects.append(Subject(name=name, source=source, threads=threads, environment=environment))
    return subjects
