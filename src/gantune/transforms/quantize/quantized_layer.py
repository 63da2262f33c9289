"""Dense layers between rounded tensors: their inputs, weights and, where an engine needs it, outputs."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from torch import Tensor, nn
from torch.nn.utils import parametrize

from gantune.transforms.quantize.operator import quantize_dequantize
from gantune.transforms.quantize.scheme import Grid
from gantune.transforms.up_convolution import UpConvolution


class FakeQuantize(nn.Module):
    """Round a tensor to a grid; `num_bits` is what an integer of it takes in a file."""

    scale: Tensor
    zero_point: Tensor

    def __init__(self, grid: Grid, *, num_bits: int) -> None:
        super().__init__()
        self.register_buffer("scale", grid.scale.detach().float().clone())
        self.register_buffer("zero_point", grid.zero_point.detach().float().clone())
        self.low, self.high = grid.low, grid.high
        self.axis = -1 if grid.axis is None else grid.axis
        self.num_bits = num_bits
        self.is_active = True

    def forward(self, x: Tensor) -> Tensor:
        """Return x on the grid."""
        if not self.is_active:
            return x
        rounded: Tensor = quantize_dequantize(x, self.scale, self.zero_point, self.axis, self.low, self.high)
        return rounded


@contextmanager
def rounding_off(network: nn.Module) -> Iterator[None]:
    """Let a quantized network compute in float32 for the block; its weights stay rounded."""
    grids = [module for module in network.modules() if isinstance(module, FakeQuantize)]
    for grid in grids:
        grid.is_active = False
    try:
        yield
    finally:
        for grid in grids:
            grid.is_active = True


class QuantizedLayer(nn.Module):
    """A dense layer whose input and output are rounded; None leaves that side as it is."""

    def __init__(
        self, layer: nn.Module, *, input_grid: FakeQuantize | None, output_grid: FakeQuantize | None
    ) -> None:
        super().__init__()
        self.layer = layer
        self.input_grid = input_grid
        self.output_grid = output_grid

    def forward(self, x: Tensor) -> Tensor:
        """Run the layer on the rounded x."""
        if self.input_grid is not None:
            x = self.input_grid(x)
        y: Tensor = self.layer(x)
        return y if self.output_grid is None else self.output_grid(y)


class QuantizedUpConvolution(UpConvolution):
    """An up-convolution whose dense step is rounded; its filter stays float32."""

    def __init__(
        self, source: UpConvolution, *, input_grid: FakeQuantize | None, output_grid: FakeQuantize | None
    ) -> None:
        super().__init__(*source.original, source.form)
        self.weight = nn.Parameter(source.weight.detach().clone(), requires_grad=False)
        self.input_grid = input_grid
        self.output_grid = output_grid

    def convolve_densely(self, x: Tensor) -> Tensor:
        """Run the dense step on the rounded x."""
        if self.input_grid is not None:
            x = self.input_grid(x)
        y = super().convolve_densely(x)
        return y if self.output_grid is None else self.output_grid(y)


def round_weight_in_place(module: nn.Module, rounded: Tensor, grid: FakeQuantize) -> None:
    """Give a module a weight that stands on its grid and says so to an export."""
    weight = cast(nn.Parameter, module.weight)
    weight.data = rounded.detach().to(weight.dtype)
    parametrize.register_parametrization(module, "weight", grid, unsafe=True)
