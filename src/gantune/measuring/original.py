"""The original network of a checkpoint, called like an artifact: arrays in, array out."""

from pathlib import Path
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray

from gantune.checkpoints import load
from gantune.networks.contract import TRUNCATION, Network, StyleNetwork
from gantune.records.interface import InputSpec, OutputSpec
from gantune.runtime.inputs import InputValue, prepare_inputs


class RunnableOriginal:
    """Load the generator at `path` and run it with torch; raises `CheckpointError` for a refused file."""

    def __init__(self, path: Path) -> None:
        self._module = load(path)
        self._network = cast(Network, self._module)

    @property
    def inputs(self) -> tuple[InputSpec, ...]:
        """List the inputs, in order; a style network also takes `truncation_psi`."""
        if isinstance(self._module, StyleNetwork):
            return (*self._network.inputs, TRUNCATION)
        return self._network.inputs

    @property
    def output(self) -> OutputSpec:
        """Describe the output."""
        return self._network.output

    def __call__(self, **inputs: InputValue) -> NDArray[np.float32]:
        """Run any batch size; raises `UsageError` where an input does not fit."""
        arrays = prepare_inputs(self.inputs, inputs)
        tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
        with torch.inference_mode():
            return cast(NDArray[np.float32], self._module(**tensors).numpy())
