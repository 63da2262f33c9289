"""Weights that are only stored as integers: turned back to float by arithmetic that engines fold at loading.

Written as DequantizeLinear, OpenVINO takes them for the weights of an integer layer and moves their scales on
through the graph; behind a style's affine layer they stop the convolutions that it scales from being integer.
"""

import numpy as np
import onnx
from onnx import GraphProto, NodeProto, numpy_helper

# Convolutions keep their dequantization: there it does no harm, and engines report them by name.
_LINEAR = ("Gemm", "MatMul")


def unpack_stored_weights(model: onnx.ModelProto) -> None:
    """Replace the dequantization of weights of linear layers in float by a cast and a division."""
    graph = model.graph
    producers = {output: node for node in graph.node for output in node.output}
    for node in [node for node in graph.node if node.op_type in _LINEAR]:
        sides = [_dequantization(producers.get(name)) for name in node.input[:2]]
        if sides[1] is not None and sides[0] is None:
            _unpack(graph, sides[1])


def _dequantization(node: NodeProto | None) -> NodeProto | None:
    return node if node is not None and node.op_type == "DequantizeLinear" else None


def _unpack(graph: GraphProto, node: NodeProto) -> None:
    initializers = {tensor.name: tensor for tensor in graph.initializer}
    integers, scale = initializers.get(node.input[0]), initializers.get(node.input[1])
    zero_point = initializers.get(node.input[2]) if len(node.input) > 2 else None
    if integers is None or scale is None:
        return
    if zero_point is not None and numpy_helper.to_array(zero_point).any():
        return
    axis = next((attribute.i for attribute in node.attribute if attribute.name == "axis"), 1)
    steps = numpy_helper.to_array(scale).astype(np.float64)
    if steps.ndim:
        steps = steps.reshape([-1 if index == axis else 1 for index in range(len(integers.dims))])
    name = node.output[0]
    graph.initializer.append(numpy_helper.from_array((1 / steps).astype(np.float32), f"{name}.inverse_scale"))
    cast = onnx.helper.make_node(
        "Cast", [node.input[0]], [f"{name}.unscaled"], name=f"{name}.cast", to=onnx.TensorProto.FLOAT
    )
    divide = onnx.helper.make_node(
        "Div", [f"{name}.unscaled", f"{name}.inverse_scale"], [name], name=f"{name}.divide"
    )
    position = list(graph.node).index(node)
    graph.node.remove(node)
    graph.node.insert(position, cast)
    graph.node.insert(position + 1, divide)
