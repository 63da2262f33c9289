"""What every engine gives: a session that runs arrays and can say in which precision it did."""

from collections.abc import Collection
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gantune.errors import CheckpointError
from gantune.records.artifact import Artifact
from gantune.runtime.inputs import Arrays


class Session(Protocol):
    """Run one opened network."""

    def run(self, inputs: Arrays) -> NDArray[np.float32]:
        """Return the output for checked inputs, as an array that the caller owns."""
        ...

    def read_precision(self) -> str:
        """Read back the precision of the dense layers, as `summarize_precisions` writes it."""
        ...


def summarize_precisions(precisions: list[str]) -> str:
    """Write the precisions of the dense layers: "bf16" where all are equal, else "bf16 ×30, fp32 ×12".

    "unknown" stands for a network without a dense layer.
    """
    counts = {name: precisions.count(name) for name in dict.fromkeys(precisions)}
    if len(counts) <= 1:
        return next(iter(counts), "unknown")
    by_count = sorted(counts.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} ×{count}" for name, count in by_count)


def check_input_names(artifact: Artifact, path: Path, found: Collection[str]) -> None:
    """Raise CheckpointError where the network at `path` takes other inputs than its artifact.json names."""
    named = {spec.name for spec in artifact.inputs}
    if named != set(found):
        raise CheckpointError(
            f"artifact.json names the inputs {', '.join(sorted(named)) or 'none'}, and {path} takes "
            f"{', '.join(sorted(found)) or 'none'}; export it again"
        )
