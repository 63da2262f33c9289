"""What must be true of an exported ONNX graph before anyone is given the file."""

from collections.abc import Callable, Iterator
from hashlib import sha256

import onnx
from onnx import GraphProto, NodeProto

from gantune.errors import ExportError

_CONVOLUTIONS = ("Conv", "ConvTranspose", "ConvInteger", "QLinearConv")
_RANDOM = ("RandomNormal", "RandomUniform", "Bernoulli", "Multinomial", "Dropout")
_WEIGHT_POSITION = {"QLinearConv": 3}


def check_graph(model: onnx.ModelProto) -> None:
    """Raise `ExportError` at the first broken rule."""
    for rule in RULES:
        for offence in rule(model.graph):
            raise ExportError(f"The exported graph is refused: {offence}.")


def find_random_nodes(graph: GraphProto) -> Iterator[str]:
    """Find nodes that draw random numbers: engines refuse them or ignore their seed."""
    for node in graph.node:
        if node.op_type.startswith(_RANDOM):
            yield (
                f"the node {node.name} draws random numbers ({node.op_type}); "
                "export noise as const, input or none"
            )


def find_computed_weights(graph: GraphProto) -> Iterator[str]:
    """Find convolutions whose weight is computed at run time, which fixes the batch size."""
    constants = _constants(graph)
    for node in _convolutions(graph):
        weight = node.input[_WEIGHT_POSITION.get(node.op_type, 1)]
        if weight not in constants:
            yield (
                f"the weight {weight} of {node.op_type} {node.name} is computed at run time; apply "
                "static_modulation before exporting"
            )


def find_batch_groups(graph: GraphProto) -> Iterator[str]:
    """Find grouped convolutions behind a reshape that moves samples into channels (group = example batch)."""
    producers = {output: node for node in graph.node for output in node.output}
    for node in _convolutions(graph):
        group = next((attribute.i for attribute in node.attribute if attribute.name == "group"), 1)
        source = producers.get(node.input[0])
        if (
            group > 1
            and source is not None
            and source.op_type == "Reshape"
            and _starts_with_one(graph, source)
        ):
            yield f"{node.op_type} {node.name} has {group} groups made of the batch"


def find_fixed_batches(graph: GraphProto) -> Iterator[str]:
    """Find inputs and outputs whose first size is a number: one file must serve every batch size."""
    for value in (*graph.input, *graph.output):
        sizes = value.type.tensor_type.shape.dim
        if sizes and not sizes[0].dim_param:
            yield f"{value.name} has the fixed batch size {sizes[0].dim_value}"


def find_dead_inputs(graph: GraphProto) -> Iterator[str]:
    """Find inputs that no node on the way to the output reads."""
    producers = {output: node for node in graph.node for output in node.output}
    alive: set[str] = set()
    waiting = [value.name for value in graph.output]
    while waiting:
        name = waiting.pop()
        if name in alive:
            continue
        alive.add(name)
        if name in producers:
            waiting.extend(producers[name].input)
    for value in graph.input:
        if value.name not in alive:
            yield f"the output does not depend on the input {value.name}"


RULES: tuple[Callable[[GraphProto], Iterator[str]], ...] = (
    find_random_nodes,
    find_dead_inputs,
    find_computed_weights,
    find_batch_groups,
    find_fixed_batches,
)


def count_duplicate_bytes(model: onnx.ModelProto) -> int:
    """Add up the bytes of initializers that repeat an earlier one."""
    seen: set[bytes] = set()
    duplicate_bytes = 0
    for tensor in model.graph.initializer:
        data = onnx.numpy_helper.to_array(tensor).tobytes()
        key = sha256(data + str(list(tensor.dims)).encode()).digest()
        duplicate_bytes += len(data) if key in seen else 0
        seen.add(key)
    return duplicate_bytes


def _convolutions(graph: GraphProto) -> Iterator[NodeProto]:
    return (node for node in graph.node if node.op_type in _CONVOLUTIONS)


def _constants(graph: GraphProto) -> set[str]:
    """Name initializers and what only reinterprets them: constants, their dequantization and their casts."""
    constants = {tensor.name for tensor in graph.initializer}
    for node in graph.node:
        passes = node.op_type in ("DequantizeLinear", "QuantizeLinear", "Cast", "Div", "Identity")
        if node.op_type == "Constant" or (passes and set(node.input) <= constants):
            constants.update(node.output)
    return constants


def _starts_with_one(graph: GraphProto, reshape: NodeProto) -> bool:
    shape = next((tensor for tensor in graph.initializer if tensor.name == reshape.input[1]), None)
    return shape is not None and onnx.numpy_helper.to_array(shape).tolist()[:1] == [1]
