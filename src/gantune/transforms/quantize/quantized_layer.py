"""Dense layers between rounded tensors: their inputs, weights and, where an engine needs it, outputs."""

from collections.abc import Iterator
from contextlib import contextmanager
from math import sqrt
from typing import cast

from torch import Tensor, nn
from torch.nn.utils import parametrize

from gantune.transforms.quantize.operator import quantize_dequantize
from gantune.transforms.quantize.scheme import Grid
from gantune.transforms.up_convolution import UpConvolution

# A step that learns never comes below this share of the step it began with.
_SMALLEST_STEP = 0.01


class FakeQuantize(nn.Module):
    """Round a tensor to a grid; `num_bits` is what an integer of it takes in a file.

    The step (`scale`) is a constant, and a parameter between `learn_step` and `fix_step`.
    """

    scale: Tensor
    zero_point: Tensor
    _least_scale: Tensor

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
        scale = self._learning_scale(x) if self.learns_step else self.scale
        rounded: Tensor = quantize_dequantize(x, scale, self.zero_point, self.axis, self.low, self.high)
        return rounded

    @property
    def learns_step(self) -> bool:
        """Say whether the step is a parameter."""
        return isinstance(self.scale, nn.Parameter)

    def learn_step(self) -> None:
        """Make the step a parameter."""
        scale = self.scale
        del self.scale
        self.register_buffer("_least_scale", scale * _SMALLEST_STEP)
        self.scale = nn.Parameter(scale)

    def fix_step(self) -> None:
        """Make the step a constant again."""
        scale = self.scale.detach().clamp(min=self._least_scale)
        del self.scale, self._least_scale
        self.register_buffer("scale", scale)

    def _learning_scale(self, x: Tensor) -> Tensor:
        """Return the step, whose gradient is divided by √(values that share it · largest integer).

        Esser et al., arXiv 1902.08153, section 2.2. One step serves a whole batch of activations.
        """
        scale = self.scale.clamp(min=self._least_scale)
        if scale.requires_grad:
            num_sharing = x.numel() / (scale.numel() if self.axis >= 0 else x.shape[0])
            factor = 1 / sqrt(num_sharing * self.high)
            scale.register_hook(lambda gradient: gradient * factor)  # type: ignore[no-untyped-call]
        return scale


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
