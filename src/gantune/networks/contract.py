"""The contract that every generator and discriminator satisfies."""

from typing import Literal, Protocol, runtime_checkable

import torch
from torch import Tensor

from gantune.records.interface import InputSpec, OutputSpec
from gantune.runtime.sampling import draw_inputs

Config = dict[str, object]

TRUNCATION = InputSpec(name="truncation_psi", kind="scalar", shape=(), default=1.0)
"""The input that style networks take beside their own: how far w is pulled toward its mean."""


@runtime_checkable
class Network(Protocol):
    """An `nn.Module` in eval mode, float32, on the CPU, that says what it takes and gives.

    `config` holds the constructor's keyword arguments as JSON values: `type(network)(**network.config)`
    builds an equal module. `forward` takes the inputs by the names and in the order of `inputs`.
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


@runtime_checkable
class StyleNetwork(Network, Protocol):
    """A generator in two steps: `mapping` turns z and c into ws, `synthesis` turns ws into an image."""

    z_dim: int
    c_dim: int
    w_dim: int
    num_ws: int
    resolution: int
    img_channels: int

    def mapping(
        self,
        z: Tensor,
        c: Tensor | None = None,
        truncation_psi: float | Tensor = 1,
        truncation_cutoff: int | None = None,
    ) -> Tensor:
        """Return ws [N, num_ws, w_dim], truncated towards the average w where `truncation_psi` is not 1."""
        ...

    def synthesis(self, ws: Tensor, noise_mode: Literal["const", "none", "random"] = "const") -> Tensor:
        """Return images [N, img_channels, resolution, resolution]."""
        ...


def sample_tensors(
    inputs: tuple[InputSpec, ...], n: int, seed: int, *, image_size: int = 64
) -> dict[str, Tensor]:
    """Draw inputs as `gantune.runtime.sampling.draw_inputs` does, as tensors."""
    arrays = draw_inputs(inputs, n, seed, image_size=image_size)
    return {name: torch.from_numpy(array) for name, array in arrays.items()}
