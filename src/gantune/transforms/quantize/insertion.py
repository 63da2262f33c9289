"""Quantize a network: its dense layers are replaced by ones whose tensors stand on integer grids."""

import torch
from torch import nn

from gantune.errors import UnsupportedError
from gantune.transforms.module_tree import NetworkT, copy_network
from gantune.transforms.quantize.bias_correction import correct_bias
from gantune.transforms.quantize.calibration import Calibration, LayerRecord
from gantune.transforms.quantize.layers import DenseLayer, find_dense_layers
from gantune.transforms.quantize.observers import choose_range
from gantune.transforms.quantize.options import LayerBits, QuantizeOptions, choose_bits
from gantune.transforms.quantize.quantized_layer import (
    FakeQuantize,
    QuantizedLayer,
    QuantizedUpConvolution,
    round_weight_in_place,
)
from gantune.transforms.quantize.scheme import Scheme, Symmetry, fit_grid
from gantune.transforms.quantize.statistics import TensorStatistics
from gantune.transforms.quantize.weights import fit_weight_grid, round_weight
from gantune.transforms.up_convolution import UpConvolution


def quantize(network: NetworkT, calibration: Calibration, options: QuantizeOptions | None = None) -> NetworkT:
    """Return a copy that computes what integers of the chosen bits would, in float32.

    Raise `UnsupportedError` where the network is quantized already or has no dense layer.
    """
    copied = copy_network(network)
    assert isinstance(copied, nn.Module)
    if is_quantized(copied):
        raise UnsupportedError("The network is quantized already; quantize the float network instead.")
    if not calibration.layers:
        raise UnsupportedError(
            "The network has no layer with constant weights (where it is a style network, apply "
            "static_modulation first)."
        )
    options = options or QuantizeOptions()
    layers = find_dense_layers(copied)
    for name, bits in choose_bits(calibration, options).items():
        _replace(copied, _quantize_layer(layers[name], calibration.layers[name], bits, options), name)
    return copied


def is_quantized(network: nn.Module) -> bool:
    """Say whether any tensor of the network is rounded to a grid."""
    return any(isinstance(module, FakeQuantize) for module in network.modules())


def has_rounded_activations(network: nn.Module) -> bool:
    """Say whether any layer's input is rounded, so that an engine can compute with integers."""
    return any(getattr(module, "input_grid", None) is not None for module in network.modules())


def _quantize_layer(
    layer: DenseLayer, record: LayerRecord, bits: LayerBits, options: QuantizeOptions
) -> nn.Module:
    is_integer = bits.weights is not None and bits.activations is not None
    symmetry = options.choose_symmetry(layer.kind, record.input.low)
    input_grid = _fit(record.input, bits.activations, symmetry, options)
    rounds_output = is_integer and options.scheme.rounds_outputs and layer.kind != "linear"
    usual = options.activations or options.scheme.activations
    output_grid = _fit(record.output, bits.activations, usual, options) if rounds_output else None
    module = layer.module
    if isinstance(module, UpConvolution):
        module = QuantizedUpConvolution(module, input_grid=input_grid, output_grid=output_grid)
    if bits.weights is not None:
        _quantize_weight(DenseLayer(layer.name, layer.kind, module), record, bits.weights, options)
    if isinstance(module, UpConvolution) or (input_grid is None and output_grid is None):
        return module
    return QuantizedLayer(module, input_grid=input_grid, output_grid=output_grid)


def _quantize_weight(layer: DenseLayer, record: LayerRecord, bits: int, options: QuantizeOptions) -> None:
    scheme = Scheme(bits=bits, granularity=options.weights)
    weight = layer.weight.detach().clone()
    grid = fit_weight_grid(weight, scheme, axis=layer.output_axis, clipping=options.clipping)
    rounded = round_weight(weight, grid, scheme)
    if options.is_bias_corrected:
        correct_bias(layer, rounded - weight, record.channel_means)
    round_weight_in_place(layer.module, rounded, FakeQuantize(grid, num_bits=bits))


def _fit(
    statistics: TensorStatistics, bits: int | None, symmetry: Symmetry, options: QuantizeOptions
) -> FakeQuantize | None:
    if bits is None:
        return None
    scheme = Scheme(bits=bits, symmetry=symmetry)
    low, high = choose_range(statistics, scheme, options.observer)
    grid = fit_grid(torch.tensor(low), torch.tensor(high), scheme)
    return FakeQuantize(grid, num_bits=bits)


def _replace(network: nn.Module, module: nn.Module, name: str) -> None:
    parent, _, last = name.rpartition(".")
    setattr(network.get_submodule(parent), last, module.eval().requires_grad_(False))
