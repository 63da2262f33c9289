"""Compute once, when a program is loaded, what depends on nothing but its own tensors."""

from collections.abc import Iterator
from typing import cast

import torch
from torch import Tensor, fx


@torch.inference_mode()
def fold_constants(module: fx.GraphModule) -> None:
    """Replace every operation on the module's own tensors alone by its result; changes the module in place.

    A result is kept where it takes no more memory than what it was computed of. The same operations run as
    before, so no bit of a result changes. A program that changes any tensor in place is left alone.
    """
    if any(_changes_in_place(node) for node in module.graph.nodes):
        return
    folded = 0
    for node in list(module.graph.nodes):
        if _is_whole_slice(node):
            node.replace_all_uses_with(node.args[0])
            module.graph.erase_node(node)
            folded += 1
            continue
        if not _is_constant(node, module):
            continue
        result = _run(node, module)
        if not isinstance(result, Tensor) or _count_bytes(result) > sum(
            map(_count_bytes, _read(node, module))
        ):
            continue
        name = f"folded_{folded}"
        folded += 1
        # Its own memory: a part would keep the whole of what it was taken from.
        is_part = result.untyped_storage().nbytes() > _count_bytes(result)
        module.register_buffer(name, result.clone() if is_part else result, persistent=False)
        with module.graph.inserting_before(node):
            constant = module.graph.get_attr(name)
        constant.meta = dict(node.meta)
        sources = node.all_input_nodes
        node.replace_all_uses_with(constant)
        module.graph.erase_node(node)
        for source in sources:
            _drop_if_unused(source, module)
    if folded:
        module.recompile()


def _is_whole_slice(node: fx.Node) -> bool:
    """Recognize x[:], which tracing leaves behind where a dimension is passed over."""
    if node.target is not torch.ops.aten.slice.Tensor or node.kwargs or len(node.args) != 4:
        return False
    return node.args[2] in (0, None) and node.args[3] in (None, 2**63 - 1)


def _is_constant(node: fx.Node, module: fx.GraphModule) -> bool:
    if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
        return False
    inputs = node.all_input_nodes
    return (
        bool(inputs)
        and bool(node.users)
        and all(source.op == "get_attr" for source in inputs)
        and torch.Tag.nondeterministic_seeded not in node.target.tags
    )


def _changes_in_place(node: fx.Node) -> bool:
    return isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable


def _read(node: fx.Node, module: fx.GraphModule) -> Iterator[Tensor]:
    for source in node.all_input_nodes:
        yield getattr(module, str(source.target))


def _run(node: fx.Node, module: fx.GraphModule) -> object:
    def read(source: fx.Node) -> Tensor:
        tensor: Tensor = getattr(module, str(source.target))
        return tensor

    assert callable(node.target)
    # torch's stubs know nothing of nodes that are exchanged for tensors.
    args = cast(tuple[object, ...], fx.map_arg(node.args, read))
    kwargs = cast(dict[str, object], fx.map_arg(node.kwargs, read))
    return node.target(*args, **kwargs)


def _count_bytes(tensor: Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def _drop_if_unused(source: fx.Node, module: fx.GraphModule) -> None:
    if not source.users:
        module.graph.erase_node(source)
        if not any(node.target == source.target for node in module.graph.nodes if node.op == "get_attr"):
            delattr(module, str(source.target))
