"""Graph rules for transposed convolutions, so that OpenVINO runs them with integers and reports them by name.

OpenVINO has no integer form of a grouped transposed convolution (its low-precision transformations leave
GroupConvolutionBackpropData in float), and forgets the name of a transposed convolution that has a bias.
"""

from collections.abc import Sequence

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import GraphProto, NodeProto, TensorProto, numpy_helper


def split_transposed_biases(model: onnx.ModelProto) -> None:
    """Add the bias of a transposed convolution in a node of its own."""
    graph = model.graph
    initializers = {tensor.name: tensor for tensor in graph.initializer}
    for node in [node for node in graph.node if node.op_type == "ConvTranspose" and len(node.input) == 3]:
        bias = initializers.get(node.input[2])
        if bias is None:
            continue
        shaped = numpy_helper.from_array(numpy_helper.to_array(bias)[:, None, None], f"{node.name}.bias")
        graph.initializer.append(shaped)
        output, node.output[0] = node.output[0], f"{node.name}.unbiased"
        del node.input[2]
        add = onnx.helper.make_node("Add", [node.output[0], shaped.name], [output], name=f"{node.name}.add")
        graph.node.insert(list(graph.node).index(node) + 1, add)


_STORED = (TensorProto.INT8, TensorProto.INT4)


def split_transposed_groups(model: onnx.ModelProto) -> None:
    """Run each group of an integer transposed convolution apart; depthwise ones stay whole."""
    graph = model.graph
    producers = {output: node for node in graph.node for output in node.output}
    initializers = {tensor.name: tensor for tensor in graph.initializer}
    for node in [node for node in graph.node if node.op_type == "ConvTranspose"]:
        groups = next((attribute.i for attribute in node.attribute if attribute.name == "group"), 1)
        weight, x = producers.get(node.input[1]), producers.get(node.input[0])
        is_rounded = all(side is not None and side.op_type == "DequantizeLinear" for side in (weight, x))
        if groups == 1 or not is_rounded or weight is None or weight.input[0] not in initializers:
            continue
        integers = initializers[weight.input[0]]
        if integers.dims[0] == groups or integers.data_type not in _STORED:
            continue
        # The pieces of 4-bit weights take 8 bits: engines have no narrower kernels.
        _split(graph, node, weight, numpy_helper.to_array(integers).astype(np.int8), groups)


def _split(
    graph: GraphProto, node: NodeProto, weight: NodeProto, integers: NDArray[np.generic], groups: int
) -> None:
    name = node.name
    pieces = [f"{name}.group_{index}" for index in range(groups)]
    split = onnx.helper.make_node(
        "Split", [node.input[0]], [f"{piece}.input" for piece in pieces], name=f"{name}.split", axis=1,
        num_outputs=groups,
    )  # fmt: skip
    made = [split]
    for piece, part in zip(pieces, np.split(integers, groups), strict=True):
        graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(part), f"{piece}.integers"))
        dequantize = NodeProto()
        dequantize.CopyFrom(weight)
        dequantize.name, dequantize.output[0] = f"{piece}.dequantize", f"{piece}.weight"
        dequantize.input[0] = f"{piece}.integers"
        convolution = NodeProto()
        convolution.CopyFrom(node)
        convolution.name, convolution.output[0] = piece, f"{piece}.output"
        convolution.input[0], convolution.input[1] = f"{piece}.input", f"{piece}.weight"
        _set_group(convolution.attribute)
        made += [dequantize, convolution]
    outputs = [f"{piece}.output" for piece in pieces]
    made.append(onnx.helper.make_node("Concat", outputs, [node.output[0]], name=f"{name}.concat", axis=1))
    position = list(graph.node).index(node)
    graph.node.remove(node)
    for offset, new in enumerate(made):
        graph.node.insert(position + offset, new)


def _set_group(attributes: Sequence[onnx.AttributeProto]) -> None:
    for attribute in attributes:
        if attribute.name == "group":
            attribute.i = 1
