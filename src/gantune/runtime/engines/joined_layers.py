"""Join layers of a loaded program whose results only one other layer reads, where those results are large."""

from math import prod

import torch
from torch import fx
from torch.fx.node import Argument

# Results of a sample from this size on; smaller ones stay in the cache, and a batch of them shares weights.
SMALLEST_BYTES = 16 << 20


def join_layers(module: fx.GraphModule) -> None:
    """Make one operation of an up-sampling packed styled convolution and the plain one that alone reads it.

    Where the plain one's result is only projected to an image, as by the last block of a StyleGAN2 with skip
    connections, the projection and the sum behind it belong to it as well. Changes the module in place; the
    results change by rounding alone.
    """
    found = [_join(node) for node in list(module.graph.nodes) if _is_call(node, "styled_convolution_packed")]
    if any(found):
        module.graph.eliminate_dead_code()
        module.recompile()


def _join(first: fx.Node) -> bool:
    x, packed, rows, around, _, smooth, clamp, products = first.args
    second = _only_user(first)
    if smooth is None or not _is_large(first) or second is None:
        return False
    if not _is_call(second, "styled_convolution_packed") or second.args[0] is not first:
        return False
    _, *weight_and_around, padding, second_smooth, second_clamp, second_products = second.args
    if (padding, second_smooth, second_products) != (1, None, products):
        return False
    end, projection = _find_projection(second)
    with end.graph.inserting_after(end):
        node = end.graph.call_function(
            torch.ops.gantune.styled_block.default,
            (
                *(x, packed, rows, around, smooth, clamp),
                *(*weight_and_around, second_clamp, products),
                *projection,
            ),
        )
    node.meta = dict(end.meta)
    end.replace_all_uses_with(node)
    return True


def _find_projection(layer: fx.Node) -> tuple[fx.Node, tuple[Argument, ...]]:
    """Return the node whose result is wanted, and the projection's weight, bias, clamp and image."""
    projection = _only_user(layer)
    if projection is None or not _is_call(projection, "project_pixels") or projection.args[0] is not layer:
        return layer, (None, None, None, None)
    _, weight, bias, clamp = projection.args
    user = _only_user(projection)
    if user is None or user.target is not torch.ops.aten.add.Tensor or user.kwargs:
        return projection, (weight, bias, clamp, None)
    other = user.args[1] if user.args[0] is projection else user.args[0]
    # A number may be added too, or the projection to itself.
    if not isinstance(other, fx.Node) or other is projection or other.meta.get("dtype") != torch.float32:
        return projection, (weight, bias, clamp, None)
    return user, (weight, bias, clamp, other)


def _is_large(node: fx.Node) -> bool:
    sizes = node.meta.get("sizes", [None])[1:]
    return bool(sizes) and None not in sizes and 4 * prod(sizes) >= SMALLEST_BYTES


def _only_user(node: fx.Node) -> fx.Node | None:
    return next(iter(node.users)) if len(node.users) == 1 else None


def _is_call(node: fx.Node, operator: str) -> bool:
    return node.op == "call_function" and str(node.target) == f"gantune.{operator}.default"
