"""Read and write `artifact.json`, and check that an artifact's files are the ones it names."""

import hashlib
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from pydantic import ValidationError

from gantune.errors import CheckpointError, StorageError
from gantune.records.artifact import ARTIFACT_FILE_NAME, Artifact, ArtifactFile


def read_artifact(directory: Path) -> Artifact:
    """Read `artifact.json` and check every file's size and SHA-256.

    Raises CheckpointError where the folder is no artifact, a file is missing, damaged or lies outside it.
    """
    path = directory / ARTIFACT_FILE_NAME
    if not path.is_file():
        raise CheckpointError(
            f"{directory} is not an artifact: it has no {ARTIFACT_FILE_NAME}; give the folder export wrote"
        )
    try:
        artifact = Artifact.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the document"
        raise CheckpointError(f"{path} is not readable: {place}: {first['msg']}; export it again") from error
    for file in artifact.files:
        _check_file(directory, file)
    return artifact


def write_artifact(artifact: Artifact, directory: Path) -> Path:
    """Write `artifact.json` beside the files it names, which must be there already; return its path."""
    for file in artifact.files:
        _check_file(directory, file)
    path = directory / ARTIFACT_FILE_NAME
    try:
        path.write_text(artifact.model_dump_json(indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise StorageError(f"{path} could not be written: {error.strerror}") from error
    return path


def describe_files(directory: Path, names: Iterable[str]) -> tuple[ArtifactFile, ...]:
    """Measure and hash files of `directory`, given by relative name."""
    return tuple(
        ArtifactFile(
            name=name, sha256=_sha256(directory / name), size_bytes=(directory / name).stat().st_size
        )
        for name in names
    )


def _check_file(directory: Path, file: ArtifactFile) -> None:
    relative = PurePosixPath(file.name)
    if relative.is_absolute() or ".." in relative.parts:
        raise CheckpointError(f"{directory} names the file {file.name!r}, which lies outside the artifact")
    path = directory / relative
    if not path.is_file():
        raise CheckpointError(
            f"{directory} lacks its file {file.name!r}; copy the whole folder or export again"
        )
    size_bytes = path.stat().st_size
    if size_bytes != file.size_bytes:
        raise CheckpointError(
            f"{path} has {size_bytes} bytes where artifact.json says {file.size_bytes}; export it again"
        )
    if _sha256(path) != file.sha256:
        raise CheckpointError(f"{path} is not the file that was exported (SHA-256 differs); export it again")


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
