"""Build an artifact's folder around the one file that an exporter writes."""

from collections.abc import Callable
from pathlib import Path

from gantune.backends.backend import BuildOptions
from gantune.exporting.artifact import describe_artifact, new_folder
from gantune.exporting.traced import TracedNetwork
from gantune.records.artifact import Artifact, Engine


def build_folder(
    write: Callable[[Path], TracedNetwork],
    out_dir: Path,
    options: BuildOptions,
    *,
    engine: Engine,
    entry: str,
) -> Artifact:
    """Let `write` make the file called `entry`, and describe it as `options` say.

    `out_dir` appears only when all of it is there. Raise `StorageError` where it holds something already.
    """
    with new_folder(out_dir) as folder:
        traced = write(folder / entry)
        return describe_artifact(
            traced,
            folder,
            entry,
            engine=engine,
            precision=options.precision,
            options=dict(options.engine_options),
            environment=options.environment,
        )
