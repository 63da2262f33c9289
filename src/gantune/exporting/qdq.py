"""Write a quantized network as an ONNX file of QuantizeLinear and DequantizeLinear pairs (QDQ).

Engines find the pairs around a convolution and run it with integers; weights are stored as integers. One
graph serves every engine; what differs (activations' zero points, rounded outputs) was chosen when the
network was quantized.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import onnx
import onnxscript
import torch
from onnxscript.values import Opset
from torch import nn

from gantune.errors import ExportError, UnsupportedError
from gantune.exporting.graph_checks import check_graph, count_duplicate_bytes
from gantune.exporting.onnx_export import ExportReport, Translations, trace_onnx, write_onnx
from gantune.exporting.options import ExportOptions
from gantune.exporting.qdq_check import check_against_rounded_torch
from gantune.exporting.qdq_clipped import drop_clips_of_weights, move_clips_behind_outputs
from gantune.exporting.qdq_graph import (
    drop_traces,
    drop_unused,
    name_layers,
    remove_double_rounding,
    round_biases,
    store_integers,
)
from gantune.exporting.qdq_stored import unpack_stored_weights
from gantune.exporting.qdq_transposed import split_transposed_biases, split_transposed_groups
from gantune.exporting.qdq_widened import widen_computed_weights
from gantune.exporting.traced import TracedNetwork
from gantune.networks.contract import Network
from gantune.transforms.quantize import is_quantized

# The first version with 4-bit and 16-bit integers.
_QDQ_OPSET = 21
_RULES = (
    drop_clips_of_weights,
    move_clips_behind_outputs,
    store_integers,
    name_layers,
    split_transposed_biases,
    split_transposed_groups,
    remove_double_rounding,
    round_biases,
    unpack_stored_weights,
    widen_computed_weights,
    drop_unused,
    drop_traces,
)


def export_qdq(
    network: Network | nn.Module, path: Path, options: ExportOptions | None = None
) -> ExportReport:
    """Export a network made by `transforms.quantize`, and compare the file with it in torch.

    Raise `UnsupportedError` for a float network, `ExportError` where the file differs; then none is left.
    """
    assert isinstance(network, nn.Module)
    if not is_quantized(network):
        raise UnsupportedError("The network has no rounded tensors; quantize it before a QDQ export.")
    options = options or ExportOptions()
    options = replace(options, opset=max(options.opset, _QDQ_OPSET))
    traced = TracedNetwork(network, options).eval()
    model = trace_onnx(traced, _translations(options.opset))
    for rule in _RULES:
        rule(model)
    check_graph(model)
    write_onnx(model, path)
    try:
        paired = check_against_rounded_torch(traced, path)
    except ExportError:
        path.unlink(missing_ok=True)
        raise
    return ExportReport(
        path=path,
        size_bytes=path.stat().st_size,
        parameter_bytes=sum(tensor.nbytes for tensor in network.state_dict().values()),
        duplicate_bytes=count_duplicate_bytes(model),
        traced=traced,
        paired=paired,
    )


def _translations(opset: int) -> Translations:
    operators = Opset("", opset)
    rounding: Callable[..., object] = torch.ops.gantune.quantize_dequantize.default

    def translate(
        x: onnxscript.FLOAT,
        scale: onnxscript.FLOAT,
        zero_point: onnxscript.FLOAT,
        axis: int,
        low: int,
        high: int,
    ) -> object:
        # Weights, one scale a channel, stand on their grid already.
        if axis < 0 and has_unused_integers(high):
            lowest, largest = (
                operators.Mul(operators.Sub(operators.Constant(value_float=float(end)), zero_point), scale)
                for end in (low, high)
            )
            x = operators.Clip(x, lowest, largest)
        integer_zero = operators.Cast(zero_point, to=integer_type(low, high))
        integers = operators.QuantizeLinear(x, scale, integer_zero, axis=axis)
        return operators.DequantizeLinear(integers, scale, integer_zero, axis=axis)

    return {rounding: translate}


def has_unused_integers(high: int) -> bool:
    """Say whether the ONNX type holds larger integers than `high`, at which rounding must clip by itself."""
    return high not in (127, 255, 32767, 65535)


def integer_type(low: int, high: int) -> int:
    """Name the smallest ONNX type of 8 or 16 bits that holds integers from `low` to `high`."""
    types = onnx.TensorProto
    if low < 0:
        return int(types.INT8 if high <= 127 else types.INT16)
    return int(types.UINT8 if high <= 255 else types.UINT16)
