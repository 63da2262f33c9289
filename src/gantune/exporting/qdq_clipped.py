"""Rounding to fewer integers than the ONNX type has clips, too: where the clip may stand, and where none.

Clipping real numbers before the pair and after it gives the same result. An engine's integer kernel takes in
the pair of its input, which the clip must precede, and that of its output, which it must follow.
"""

import onnx
from onnx import GraphProto, NodeProto

_DENSE = ("Conv", "ConvTranspose", "Gemm", "MatMul")


def drop_clips_of_weights(model: onnx.ModelProto) -> None:
    """Let the rounding of an initializer read it directly: weights stand on their grid already."""
    graph = model.graph
    initializers = {tensor.name for tensor in graph.initializer}
    for clip, rounding in _clipped_roundings(graph):
        if clip.input[0] in initializers:
            rounding.input[0] = clip.input[0]
            graph.node.remove(clip)


def move_clips_behind_outputs(model: onnx.ModelProto) -> None:
    """Move the clip between a dense layer and the pair of its output behind the pair."""
    graph = model.graph
    producers = {output: node for node in graph.node for output in node.output}
    for clip, rounding in _clipped_roundings(graph):
        source = producers.get(clip.input[0])
        readers = [node for node in graph.node if rounding.output[0] in node.input]
        if source is None or source.op_type not in (*_DENSE, "Relu") or len(readers) != 1:
            continue
        (pair,) = readers
        # The pair may be that of the next layer's input, which the clip must precede.
        if any(pair.output[0] in node.input and node.op_type in _DENSE for node in graph.node):
            continue
        rounded, before = pair.output[0], f"{pair.output[0]}.unclipped"
        rounding.input[0] = clip.input[0]
        pair.output[0] = before
        clip.input[0], clip.output[0] = before, rounded
        graph.node.remove(clip)
        graph.node.insert(list(graph.node).index(pair) + 1, clip)


def _clipped_roundings(graph: GraphProto) -> list[tuple[NodeProto, NodeProto]]:
    """List each clip that a rounding alone reads, with the rounding."""
    clips = {node.output[0]: node for node in graph.node if node.op_type == "Clip"}
    readers: dict[str, list[NodeProto]] = {}
    for node in graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)
    return [
        (clips[node.input[0]], node)
        for node in graph.node
        if node.op_type == "QuantizeLinear" and node.input[0] in clips and len(readers[node.input[0]]) == 1
    ]
