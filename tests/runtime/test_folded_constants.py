import torch
from torch import Tensor, fx, nn

from gantune.runtime.engines.folded_constants import fold_constants

aten = torch.ops.aten


def build(*tensors: Tensor) -> tuple[nn.Module, fx.Graph, list[fx.Node]]:
    owner, graph = nn.Module(), fx.Graph()
    for index, tensor in enumerate(tensors):
        owner.register_buffer(f"tensor_{index}", tensor)
    return owner, graph, [graph.get_attr(f"tensor_{index}") for index in range(len(tensors))]


def count_operations(module: fx.GraphModule) -> int:
    return sum(node.op == "call_function" for node in module.graph.nodes)


def test_chains_of_constants_become_one_tensor_and_no_bit_changes() -> None:
    owner, graph, (noise, strength) = build(torch.randn(5, 7), torch.tensor(0.3))
    x = graph.placeholder("x")
    scaled = graph.call_function(
        aten.mul.Tensor, (graph.call_function(aten.mul.Tensor, (noise, strength)), 1.4)
    )
    graph.output(graph.call_function(aten.add.Tensor, (x, scaled)))
    module = fx.GraphModule(owner, graph)
    expected = module(torch.ones(5, 7))
    fold_constants(module)
    assert count_operations(module) == 1
    assert len(list(module.buffers())) == 1
    assert torch.equal(module(torch.ones(5, 7)), expected)


def test_what_would_take_more_memory_is_computed_each_time() -> None:
    owner, graph, (row,) = build(torch.randn(4))
    spread = graph.call_function(aten.repeat.default, (row, [100, 1]))
    graph.output(graph.call_function(aten.add.Tensor, (graph.placeholder("x"), spread)))
    module = fx.GraphModule(owner, graph)
    fold_constants(module)
    assert count_operations(module) == 2


def test_a_constant_that_is_changed_in_place_is_left_alone() -> None:
    owner, graph, (counter,) = build(torch.zeros(1))
    doubled = graph.call_function(aten.mul.Tensor, (counter, 2.0))
    graph.call_function(aten.add_.Tensor, (counter, 1.0))
    graph.output(graph.call_function(aten.add.Tensor, (graph.placeholder("x"), doubled)))
    module = fx.GraphModule(owner, graph)
    fold_constants(module)
    assert [module(torch.zeros(1)).item() for _ in range(3)] == [0, 2, 4]


def test_a_folded_view_does_not_keep_the_whole() -> None:
    owner, graph, (table,) = build(torch.randn(1000, 8))
    row = graph.call_function(aten.select.int, (table, 0, 3))
    graph.output(graph.call_function(aten.add.Tensor, (graph.placeholder("x"), row)))
    module = fx.GraphModule(owner, graph)
    fold_constants(module)
    (kept,) = module.buffers()
    assert kept.untyped_storage().nbytes() == 32


def test_slices_of_everything_are_passed_over_and_others_are_not() -> None:
    owner, graph, _ = build()
    x = graph.placeholder("x")
    whole = graph.call_function(aten.slice.Tensor, (x, 0, 0, 2**63 - 1))
    part = graph.call_function(aten.slice.Tensor, (whole, 1, 1, 2**63 - 1))
    graph.output(graph.call_function(aten.slice.Tensor, (part, 1, 0, 2)))
    module = fx.GraphModule(owner, graph)
    fold_constants(module)
    assert count_operations(module) == 2
    x = torch.arange(12.0).reshape(3, 4)
    assert torch.equal(module(x), x[:, 1:3])
