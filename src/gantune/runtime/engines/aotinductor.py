"""Run a package that AOTInductor compiled: machine code, with no compiler and no tracing at the start."""

import warnings
from pathlib import Path
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray

from gantune.errors import CheckpointError, first_line
from gantune.records.artifact import Artifact
from gantune.runtime.engines.session import Session
from gantune.runtime.inputs import Arrays

# The package's own note of what its dense layers compute in; machine code no longer tells.
PRECISION_KEY = "gantune_precision"


class _PackageSession:
    def __init__(self, artifact: Artifact, path: Path, threads: int | None) -> None:
        # The code may call gantune's operators, which register themselves when imported.
        import gantune.ops.styled_convolution  # noqa: F401

        if threads is not None:
            torch.set_num_threads(threads)
        with warnings.catch_warnings():
            # The package's tree of inputs is read by a part of torch that torch deprecates.
            warnings.filterwarnings("ignore", category=DeprecationWarning)
            warnings.filterwarnings("ignore", category=FutureWarning)
            self._package = torch._inductor.aoti_load_package(str(path))
        self._names = [spec.name for spec in artifact.inputs]

    @torch.inference_mode()
    def run(self, inputs: Arrays) -> NDArray[np.float32]:
        output = self._package(*(torch.from_numpy(inputs[name]) for name in self._names))
        return cast(NDArray[np.float32], output.numpy())

    def read_precision(self) -> str:
        """Read what was noted when the program was compiled."""
        metadata: dict[str, str] = self._package.get_metadata()
        return metadata.get(PRECISION_KEY, "unknown")


def open_session(artifact: Artifact, directory: Path, threads: int | None) -> Session:
    """Load the artifact's package; raise CheckpointError where torch refuses it."""
    path = directory / artifact.entry
    try:
        return _PackageSession(artifact, path, threads)
    except (RuntimeError, ValueError, KeyError, OSError) as error:
        raise CheckpointError(f"torch refuses {path}: {first_line(error)}") from error
