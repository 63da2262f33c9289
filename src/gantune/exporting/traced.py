"""A network as it is traced: plain tensors in the order of `inputs`, no modes, no randomness."""

from collections.abc import Callable
from typing import Protocol, cast

from torch import Tensor, nn
from torch.export import Dim

from gantune.exporting.options import ExportOptions
from gantune.networks.contract import TRUNCATION, Network, sample_tensors
from gantune.records.interface import InputSpec, OutputSpec

# Above 1, which torch.export takes for a constant.
_EXAMPLE_BATCH = 2
_EXAMPLE_SIZE = 16


class _StyleModules(Protocol):
    """What tracing needs of a style network: its two halves as modules, and the size of what is between."""

    num_ws: int
    w_dim: int

    @property
    def mapping(self) -> nn.Module:
        """Map z and c to ws."""
        ...

    @property
    def synthesis(self) -> nn.Module:
        """Map ws to an image."""
        ...


class TracedNetwork(nn.Module):
    """Wrap a network for tracing; `inputs` are those that the exported file takes, in order."""

    def __init__(self, network: nn.Module, options: ExportOptions) -> None:
        super().__init__()
        self.network = network
        self.options = options
        self.is_style = hasattr(network, "mapping") and hasattr(network, "synthesis")
        self.noise_inputs = _noise_inputs(network) if self.is_style and options.noise == "input" else {}
        self.inputs = self._style_inputs() if self.is_style else contract(network).inputs

    @property
    def output(self) -> OutputSpec:
        """Describe the output."""
        return contract(self.network).output

    def _style_inputs(self) -> tuple[InputSpec, ...]:
        network = contract(self.network)
        if self.options.latent == "ws":
            style = cast(_StyleModules, self.network)
            shape = ("N", style.num_ws, style.w_dim)
            inputs: tuple[InputSpec, ...] = (InputSpec(name="ws", kind="w", shape=shape),)
        else:
            inputs = tuple(spec for spec in network.inputs if spec.kind in ("latent", "class"))
            if self.options.has_truncation_input and self._can_truncate():
                inputs += (TRUNCATION,)
        return inputs + tuple(self.noise_inputs.values())

    def _can_truncate(self) -> bool:
        return getattr(self.network.mapping, "w_avg", None) is not None

    def forward(self, *tensors: Tensor) -> Tensor:
        """Run the network on its inputs in order."""
        if not self.is_style:
            return cast(Tensor, self.network(*tensors))
        given = {spec.name: tensor for spec, tensor in zip(self.inputs, tensors, strict=True)}
        style = cast(_StyleModules, self.network)
        noise = {layer: given[spec.name] for layer, spec in self.noise_inputs.items()}
        ws = given.get("ws")
        if ws is None:
            ws = style.mapping(given["z"], given.get("c"), given.get("truncation_psi", 1))
        mode = "none" if self.options.noise == "none" else "const"
        if not noise:
            return cast(Tensor, style.synthesis(ws, noise_mode=mode))
        return cast(Tensor, style.synthesis(ws, noise_mode=mode, noise=noise))

    def example(self, n: int = _EXAMPLE_BATCH, seed: int = 0) -> tuple[Tensor, ...]:
        """Draw one tensor for each input."""
        return tuple(sample_tensors(self.inputs, n, seed, image_size=_EXAMPLE_SIZE).values())

    def dynamic_shapes(self) -> tuple[dict[int, object], ...]:
        """Say which sizes stay free: every one that is a letter."""
        return tuple(
            {axis: Dim.DYNAMIC for axis, size in enumerate(spec.shape) if isinstance(size, str)}
            for spec in self.inputs
        )


def contract(network: nn.Module) -> Network:
    """View a module as what it is by contract."""
    return cast(Network, network)


def _noise_inputs(network: nn.Module) -> dict[str, InputSpec]:
    """Map each noisy layer to its input; a family without noise has none."""
    describe = cast(Callable[[], dict[str, InputSpec]] | None, getattr(network, "noise_inputs", None))
    return {} if describe is None else describe()
