"""Let a loaded program multiply its own large matrices by few vectors on all cores."""

import torch
from torch import Tensor, fx

import gantune.ops.native.matrix_vector  # noqa: F401  (registers the operator)
from gantune.ops.native.library import missing_reason
from gantune.ops.native.matrix_vector import SMALLEST_BYTES


def use_native_products(module: fx.GraphModule) -> None:
    """Replace float32 products of vectors [N, C] with a large matrix of the program's, in place.

    A matrix that stands as [C, K] is turned around once. Results differ by the order of their sums.
    """
    if missing_reason() is not None:
        return
    found = [_replace(node, module) for node in list(module.graph.nodes) if _is_product(node)]
    if any(found):
        module.recompile()


def _is_product(node: fx.Node) -> bool:
    names = ("aten.linear.default", "aten.matmul.default", "aten.mm.default")
    return node.op == "call_function" and str(node.target) in names and not node.kwargs


def _replace(node: fx.Node, module: fx.GraphModule) -> bool:
    x, matrix, *rest = node.args
    if not isinstance(x, fx.Node) or not isinstance(matrix, fx.Node) or matrix.op != "get_attr":
        return False
    weight: Tensor = getattr(module, str(matrix.target))
    is_large = weight.dtype is torch.float32 and weight.numel() * weight.element_size() >= SMALLEST_BYTES
    if not is_large or weight.ndim != 2 or len(node.meta.get("sizes", ())) != 2:
        return False
    if "linear" not in str(node.target):
        if len(matrix.users) > 1:
            return False
        setattr(module, str(matrix.target), weight.t().contiguous())
    with node.graph.inserting_before(node):
        product = node.graph.call_function(
            torch.ops.gantune.matrix_vector.default, (x, matrix, rest[0] if rest else None)
        )
    product.meta = dict(node.meta)
    node.replace_all_uses_with(product)
    node.graph.erase_node(node)
    return True
