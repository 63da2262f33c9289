"""Graph rules that turn a traced quantized network into the QDQ form that engines recognize."""

import ast

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import GraphProto, NodeProto, TensorProto, numpy_helper

_DENSE = ("Conv", "ConvTranspose", "Gemm", "MatMul")
_SCOPES = "pkg.torch.onnx.name_scopes"
_INT4_LIMIT = 7


def store_integers(model: onnx.ModelProto) -> None:
    """Replace every rounded initializer by its integers, in 4 bits where they fit."""
    graph = model.graph
    initializers = {tensor.name: tensor for tensor in graph.initializer}
    for node in [node for node in graph.node if node.op_type == "QuantizeLinear"]:
        source = initializers.get(node.input[0])
        zero_point = _read_constant(graph, node.input[2])
        if source is None or zero_point is None:
            continue
        scale = _read_constant(graph, node.input[1])
        assert scale is not None
        integers = _round(numpy_helper.to_array(source), scale.astype(np.float32), zero_point, _axis(node))
        _replace_by_integers(graph, node, integers)
    _drop_unused_values(graph)


def name_layers(model: onnx.ModelProto) -> None:
    """Give dense nodes the dotted names of their layers, so that engines' profiles can be read by layer.

    The filter behind an up-convolution comes from the same layer; names must differ.
    """
    taken: set[str] = set()
    for node in model.graph.node:
        name = read_layer_name(node) if node.op_type in _DENSE else ""
        if name:
            node.name = f"{name}.filter" if name in taken else name
            taken.add(name)


def drop_traces(model: onnx.ModelProto) -> None:
    """Drop the exporter's notes (scopes, source lines, shapes between nodes), a tenth of a small file."""
    model.ClearField("metadata_props")
    model.graph.ClearField("metadata_props")
    model.graph.ClearField("value_info")
    for entry in (*model.graph.node, *model.graph.initializer, *model.graph.input, *model.graph.output):
        entry.ClearField("metadata_props")
        entry.ClearField("doc_string")


def read_layer_name(node: NodeProto) -> str:
    """Return the dotted name of the layer that a traced node comes from, "" where it has none."""
    scopes = next((entry.value for entry in node.metadata_props if entry.key == _SCOPES), "[]")
    names: list[str] = ast.literal_eval(scopes)
    inner = names[-2] if len(names) >= 2 else ""
    return inner.removeprefix("network.").removesuffix(".layer")


def drop_unused(model: onnx.ModelProto) -> None:
    """Drop dequantizations and initializers that nothing reads."""
    graph = model.graph
    used = {name for node in graph.node for name in node.input} | {value.name for value in graph.output}
    for node in [node for node in graph.node if node.op_type == "DequantizeLinear"]:
        if not set(node.output) & used:
            graph.node.remove(node)
    _drop_unused_values(graph)


def remove_double_rounding(model: onnx.ModelProto) -> None:
    """Drop a pair before a ReLU whose result is rounded to unsigned integers: rounding clips there anyway."""
    graph = model.graph
    consumers = _consumers(graph)
    producers = _producers(graph)
    for relu in [node for node in graph.node if node.op_type == "Relu"]:
        readers = consumers.get(relu.output[0], [])
        pair = producers.get(relu.input[0])
        is_rounded = bool(readers) and all(_is_unsigned_from_zero(graph, reader) for reader in readers)
        if not is_rounded or pair is None or pair.op_type != "DequantizeLinear":
            continue
        first = producers.get(pair.input[0])
        if first is None or len(consumers[pair.output[0]]) > 1:
            continue
        relu.input[0] = first.input[0]
        graph.node.remove(pair)
        graph.node.remove(first)


def round_biases(model: onnx.ModelProto) -> None:
    """Round the biases of convolutions whose output is rounded to 32-bit integers of scale s_x·s_w.

    ONNX Runtime takes no other bias into its integer convolution.
    """
    graph = model.graph
    consumers, producers = _consumers(graph), _producers(graph)
    initializers = {tensor.name: tensor for tensor in graph.initializer}
    for node in [node for node in graph.node if node.op_type == "Conv" and len(node.input) == 3]:
        sides = [producers.get(name) for name in node.input[:2]]
        is_rounded = all(side is not None and side.op_type == "DequantizeLinear" for side in sides)
        if not is_rounded or not _feeds_rounding(consumers, node) or node.input[2] not in initializers:
            continue
        scales = [_read_constant(graph, side.input[1]) for side in sides if side is not None]
        bias = numpy_helper.to_array(initializers[node.input[2]])
        scale = np.broadcast_to(np.asarray(scales[0] * scales[1], np.float32), bias.shape)  # type: ignore[operator]
        _insert_rounded_bias(graph, node, bias, scale)
    _drop_unused_values(graph)


def _insert_rounded_bias(
    graph: GraphProto, node: NodeProto, bias: NDArray[np.float32], scale: NDArray[np.float32]
) -> None:
    limit = 2**31 - 1
    integers = np.clip(np.rint(bias.astype(np.float64) / scale), -limit, limit).astype(np.int32)
    name = f"{node.name}.bias"
    graph.initializer.append(numpy_helper.from_array(integers, f"{name}.integers"))
    graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(scale), f"{name}.scale"))
    dequantize = onnx.helper.make_node(
        "DequantizeLinear",
        [f"{name}.integers", f"{name}.scale"],
        [f"{name}.rounded"],
        name=f"{name}.dequantize",
        axis=0,
    )
    graph.node.insert(list(graph.node).index(node), dequantize)
    node.input[2] = f"{name}.rounded"


def _replace_by_integers(graph: GraphProto, node: NodeProto, integers: NDArray[np.int64]) -> None:
    (reader,) = [other for other in graph.node if node.output[0] in other.input]
    name = f"{node.input[0]}.integers"
    zero_point = _read_constant(graph, reader.input[2])
    assert zero_point is not None
    is_signed_from_zero = zero_point.dtype.kind == "i" and not zero_point.any()
    if np.abs(integers).max() <= _INT4_LIMIT and is_signed_from_zero:
        stored = _pack(integers, name)
    else:
        stored = numpy_helper.from_array(integers.astype(zero_point.dtype), name)
    graph.initializer.append(stored)
    reader.input[0] = name
    # One array of zeros that several layers share keeps OpenVINO from seeing integer weights in all but one.
    if is_signed_from_zero:
        del reader.input[2]
    graph.node.remove(node)


def _pack(integers: NDArray[np.int64], name: str) -> TensorProto:
    """Store integers in 4 bits, two a byte, the first in the lower half."""
    nibbles = (integers.flatten() & 0xF).astype(np.uint8)
    nibbles = np.append(nibbles, np.zeros(nibbles.size % 2, np.uint8))
    packed = (nibbles[0::2] | nibbles[1::2] << 4).tobytes()
    return onnx.helper.make_tensor(name, TensorProto.INT4, integers.shape, packed, raw=True)


def _round(
    values: NDArray[np.float32], scale: NDArray[np.float32], zero_point: NDArray[np.generic], axis: int
) -> NDArray[np.int64]:
    shape = [-1 if index == axis else 1 for index in range(values.ndim)] if scale.ndim else []
    limits = np.iinfo(zero_point.dtype)  # type: ignore[type-var]
    rounded = np.rint(values / scale.reshape(shape)) + zero_point.reshape(shape).astype(np.int64)
    clipped: NDArray[np.int64] = np.clip(rounded, limits.min, limits.max).astype(np.int64)
    return clipped


def _axis(node: NodeProto) -> int:
    return next((attribute.i for attribute in node.attribute if attribute.name == "axis"), 1)


def _read_constant(graph: GraphProto, name: str) -> NDArray[np.generic] | None:
    for tensor in graph.initializer:
        if tensor.name == name:
            return numpy_helper.to_array(tensor)
    for node in graph.node:
        if node.op_type == "Constant" and name in node.output:
            return numpy_helper.to_array(node.attribute[0].t)
    return None


def _is_unsigned_from_zero(graph: GraphProto, node: NodeProto) -> bool:
    if node.op_type != "QuantizeLinear":
        return False
    zero_point = _read_constant(graph, node.input[2])
    return zero_point is not None and zero_point.dtype.kind == "u" and not zero_point.any()


def _feeds_rounding(consumers: dict[str, list[NodeProto]], node: NodeProto) -> bool:
    readers = consumers.get(node.output[0], [])
    if len(readers) == 1 and readers[0].op_type == "Relu":
        readers = consumers.get(readers[0].output[0], [])
    return bool(readers) and all(reader.op_type == "QuantizeLinear" for reader in readers)


def _consumers(graph: GraphProto) -> dict[str, list[NodeProto]]:
    found: dict[str, list[NodeProto]] = {}
    for node in graph.node:
        for name in node.input:
            found.setdefault(name, []).append(node)
    return found


def _producers(graph: GraphProto) -> dict[str, NodeProto]:
    return {output: node for node in graph.node for output in node.output}


def _drop_unused_values(graph: GraphProto) -> None:
    used = {name for node in graph.node for name in node.input} | {value.name for value in graph.output}
    for tensor in [tensor for tensor in graph.initializer if tensor.name not in used]:
        graph.initializer.remove(tensor)
    computed = {name for node in graph.node for name in node.output}
    for value in [value for value in graph.value_info if value.name not in computed]:
        graph.value_info.remove(value)
