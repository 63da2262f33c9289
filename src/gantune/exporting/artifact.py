"""Write an artifact folder: all of it or nothing."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from gantune.errors import StorageError
from gantune.exporting.traced import TracedNetwork, contract
from gantune.records.artifact import Artifact, ArtifactEnvironment, Engine, OptionValue, Precision
from gantune.runtime.artifact_files import describe_files, write_artifact


@contextmanager
def new_folder(out_dir: Path) -> Iterator[Path]:
    """Give a temporary folder beside `out_dir` that becomes `out_dir` when the block ends well.

    Raise `StorageError` where `out_dir` already holds something or the disk refuses.
    """
    if out_dir.exists() and (not out_dir.is_dir() or any(out_dir.iterdir())):
        raise StorageError(f"{out_dir} already exists and is not empty; remove it or name another folder.")
    try:
        out_dir.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=f".{out_dir.name}.", dir=out_dir.parent))
    except OSError as error:
        raise StorageError(f"{out_dir} could not be created: {error.strerror}.") from error
    try:
        yield part
        if out_dir.exists():
            out_dir.rmdir()
        part.chmod(0o755)
        part.rename(out_dir)
    except OSError as error:
        raise StorageError(f"{out_dir} could not be written: {error.strerror}.") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def describe_artifact(
    traced: TracedNetwork,
    folder: Path,
    entry: str,
    *,
    engine: Engine,
    precision: Precision,
    options: Mapping[str, OptionValue],
    environment: ArtifactEnvironment,
) -> Artifact:
    """Write `artifact.json` for the files in `folder`; `entry` is the one the engine opens."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    artifact = Artifact(
        gantune_version=version("gantune"),
        family=contract(traced.network).family,
        engine=engine,
        precision=precision,
        inputs=traced.inputs,
        output=traced.output,
        entry=entry,
        files=describe_files(folder, names),
        options=dict(options),
        environment=environment,
    )
    write_artifact(artifact, folder)
    return artifact
