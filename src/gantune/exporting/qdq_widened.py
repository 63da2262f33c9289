"""Four-bit weights of layers that compute with integers: stored in 4 bits, and widened to 8 at loading.

Engines have integer kernels for 8-bit weights alone; a 4-bit one would take its whole layer back to float.
"""

import onnx
from onnx import TensorProto

_DENSE = ("Conv", "ConvTranspose", "Gemm", "MatMul")


def widen_computed_weights(model: onnx.ModelProto) -> None:
    """Insert a cast to 8 bits before the dequantization of 4-bit weights whose layer's input is rounded."""
    graph = model.graph
    producers = {output: node for node in graph.node for output in node.output}
    narrow = {tensor.name for tensor in graph.initializer if tensor.data_type == TensorProto.INT4}
    for node in [node for node in graph.node if node.op_type in _DENSE]:
        sides = [producers.get(name) for name in node.input[:2]]
        if not all(side is not None and side.op_type == "DequantizeLinear" for side in sides):
            continue
        weight = sides[1]
        assert weight is not None
        stored = weight.input[0]
        if stored not in narrow:
            continue
        widened = f"{stored}.widened"
        cast = onnx.helper.make_node("Cast", [stored], [widened], name=f"{widened}.cast", to=TensorProto.INT8)
        graph.node.insert(list(graph.node).index(weight), cast)
        weight.input[0] = widened
