from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import GraphProto, NodeProto, TensorProto, helper, numpy_helper

from gantune.errors import ExportError
from gantune.exporting.graph_checks import check_graph, count_duplicate_bytes


def build_model(
    nodes: list[NodeProto], *, inputs: tuple[str, ...] = ("x",), batch: int | str = "N"
) -> onnx.ModelProto:
    weight = numpy_helper.from_array(np.ones((4, 2, 1, 1), dtype=np.float32), "weight")
    shape = numpy_helper.from_array(np.array([1, -1, 8, 8]), "shape")
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [batch, 4, 8, 8]) for name in inputs]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, 4, 8, 8])
    graph: GraphProto = helper.make_graph(nodes, "graph", values, [output], [weight, shape])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])


def convolve(data: str, weight: str, result: str, group: int = 2) -> NodeProto:
    return helper.make_node("Conv", [data, weight], [result], name="convolution", group=group)


PLANTED: dict[str, tuple[str, Callable[[], onnx.ModelProto]]] = {
    "random": (
        "draws random numbers",
        lambda: build_model(
            [
                helper.make_node("RandomNormalLike", ["x"], ["noise"]),
                helper.make_node("Add", ["x", "noise"], ["y"]),
            ]
        ),
    ),
    "dead input": (
        "does not depend on the input z",
        lambda: build_model([convolve("x", "weight", "y")], inputs=("x", "z")),
    ),
    "computed weight": (
        "computed at run time; apply static_modulation",
        lambda: build_model(
            [
                helper.make_node("ReduceMean", ["x"], ["mean"], keepdims=1),
                helper.make_node("Mul", ["weight", "mean"], ["modulated"]),
                convolve("x", "modulated", "y"),
            ]
        ),
    ),
    "batch in groups": (
        "has 2 groups made of the batch",
        lambda: build_model(
            [
                helper.make_node("Reshape", ["x", "shape"], ["folded"]),
                convolve("folded", "weight", "y"),
            ]
        ),
    ),
    "fixed batch": (
        "fixed batch size 1",
        lambda: build_model([convolve("x", "weight", "y")], batch=1),
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_refused(name: str) -> None:
    message, build = PLANTED[name]
    with pytest.raises(ExportError, match=message):
        check_graph(build())


def test_a_sound_graph_passes() -> None:
    check_graph(build_model([convolve("x", "weight", "y")]))


def test_a_dequantized_weight_counts_as_constant() -> None:
    model = build_model(
        [
            helper.make_node("DequantizeLinear", ["integers", "scale"], ["real"]),
            convolve("x", "real", "y"),
        ]
    )
    integers = numpy_helper.from_array(np.ones((4, 2, 1, 1), dtype=np.int8), "integers")
    scale = numpy_helper.from_array(np.array(0.5, dtype=np.float32), "scale")
    model.graph.initializer.extend([integers, scale])
    check_graph(model)


def test_repeated_initializers_are_counted() -> None:
    model = build_model([convolve("x", "weight", "y")])
    assert count_duplicate_bytes(model) == 0
    again = numpy_helper.from_array(np.ones((4, 2, 1, 1), dtype=np.float32), "again")
    model.graph.initializer.append(again)
    assert count_duplicate_bytes(model) == 4 * 2 * 4
