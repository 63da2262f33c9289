"""The contract that every generator and discriminator satisfies."""

from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from gantune.records.interface import InputSpec, OutputSpec
from gantune.runtime.sampling import draw_inputs

Config = dict[str, object]


@runtime_checkable
class Network(Protocol):
    """An `nn.Module` in eval mode, float32, on the CPU, that says what it takes and gives.

    `config` holds the constructor's keyword arguments as JSON values: `type(network)(**network.config)` builds
    an equal module. `forward` takes the inputs by the names and in the order of `inputs`.
    """

    family: str
    config: Config

    @property
    def inputs(self) -> tuple[InputSpec, ...]:
        """List the inputs of `forward`, in order."""
        ...

    @property
    def output(self) -> OutputSpec:
        """Describe what `forward` returns."""
        ...

    def sample_inputs(self, n: int, seed: int) -> dict[str, Tensor]:
        """Draw `n` samples of every input; sample i never depends on `n`."""
        ...


def sample_tensors(
    inputs: tuple[InputSpec, ...], n: int, seed: int, *, image_size: int = 64
) -> dict[str, Tensor]:
    """Draw inputs as `gantune.runtime.sampling.draw_inputs` does, as tensors."""
    arrays = draw_inputs(inputs, n, seed, image_size=image_size)
    return {name: torch.from_numpy(array) for name, array in arrays.items()}
