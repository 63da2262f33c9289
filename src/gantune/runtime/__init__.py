"""Artifact → image, with numpy and the artifact's own engine; torch only where that is a torch engine."""

from gantune.runtime.allocator import AllocatorTuning, tune_allocator
from gantune.runtime.artifact_files import describe_files, read_artifact, write_artifact
from gantune.runtime.loading import LoadedArtifact, load

__all__ = [
    "AllocatorTuning",
    "LoadedArtifact",
    "describe_files",
    "load",
    "read_artifact",
    "tune_allocator",
    "write_artifact",
]
