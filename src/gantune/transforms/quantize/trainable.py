"""Quantization-aware training's two ends: float weights behind their grids, and back onto the grids.

In between, every forward pass rounds as the integers will, and gradients reach the float weights straight
through (Jacob et al., arXiv 1712.05877, section 3).
"""

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from gantune.errors import UnsupportedError
from gantune.transforms.module_tree import NetworkT, copy_network
from gantune.transforms.quantize.layers import find_dense_layers
from gantune.transforms.quantize.quantized_layer import FakeQuantize, QuantizedLayer


def make_trainable(rounded: NetworkT, source: nn.Module, *, learns_steps: bool = False) -> NetworkT:
    """Return a copy of a quantized network with the float weights of `source` behind their grids.

    It computes what `rounded` does. `source` is the network that was quantized; `learns_steps` makes the
    steps of weights and activations parameters too. Raise `UnsupportedError` for weights of one bit, whose
    sign the grid alone does not give.
    """
    copied = copy_network(rounded)
    assert isinstance(copied, nn.Module)
    for name, layer in find_dense_layers(source).items():
        module = copied.get_submodule(name)
        module = module.layer if isinstance(module, QuantizedLayer) else module
        assert isinstance(module, nn.Module)
        grid = find_weight_grid(module)
        if grid is None:
            continue
        if grid.num_bits == 1:
            raise UnsupportedError(f"{name} has weights of 1 bit; training goes down to 2 bits (ternary).")
        stored_weight(module).data = layer.weight.detach().clone()
    for module in copied.modules():
        if learns_steps and isinstance(module, FakeQuantize):
            module.learn_step()
    return copied


def put_on_grids(network: NetworkT) -> NetworkT:
    """Return a copy whose weights stand on their grids, as `quantize` leaves them; it computes the same."""
    copied = copy_network(network)
    assert isinstance(copied, nn.Module)
    for module in copied.modules():
        if isinstance(module, FakeQuantize) and module.learns_step:
            module.fix_step()
    for module in copied.modules():
        grid = find_weight_grid(module)
        if grid is not None:
            stored = stored_weight(module)
            with torch.no_grad():
                stored.data = grid(stored).detach()
    return copied.requires_grad_(False)


def find_weight_grid(module: nn.Module) -> FakeQuantize | None:
    """Give the grid that rounds a module's weight; None where it has none."""
    if not parametrize.is_parametrized(module, "weight"):
        return None
    grid = cast(nn.ModuleDict, module.parametrizations)["weight"][0]  # type: ignore[index]
    return grid if isinstance(grid, FakeQuantize) else None


def stored_weight(module: nn.Module) -> Tensor:
    """Give the weight that stands behind a module's grid."""
    return cast(Tensor, cast(nn.ModuleDict, module.parametrizations)["weight"].original)
