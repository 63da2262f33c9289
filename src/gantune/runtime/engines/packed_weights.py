"""Pack the weights of a loaded program for this processor, once, and forget the plain ones."""

from operator import attrgetter

import torch
from torch import Tensor, fx

from gantune.runtime.allocator import return_free_memory


def pack_weights(module: fx.GraphModule) -> None:
    """Let every styled convolution of `module` read a packed weight, and delete the plain weights.

    One layer is packed at a time, so that both forms of one weight only are alive together. It changes the
    module in place.
    """
    if not _styled_convolutions(module):
        return
    from gantune.ops.styled_convolution.native import pack_for

    packed: dict[str, Tensor] = {}
    for node in _styled_convolutions(module):
        x, weight, around, padding, smooth, clamp, products = node.args
        assert isinstance(weight, fx.Node)
        assert weight.op == "get_attr"
        source = str(weight.target)
        plain: Tensor = attrgetter(source)(module)
        # Layers that share a weight and differ in form would need it twice; none is known to.
        name = f"packed_{source.replace('.', '_')}_{products}_{smooth is not None}"
        if name not in packed:
            packed[name] = pack_for(plain, smooth=smooth, products=str(products))  # type: ignore[arg-type]
            module.register_buffer(name, packed[name], persistent=False)
        with module.graph.inserting_before(node):
            read = module.graph.get_attr(name)
        node.target = torch.ops.gantune.styled_convolution_packed.default
        node.args = (x, read, plain.shape[0], around, padding, smooth, clamp, products)
        del plain
        if not weight.users:
            module.graph.erase_node(weight)
            _delete(module, source)
            # Or the freed weights stay resident beside the packed ones, which do not fit their places.
            return_free_memory()
    module.recompile()


def _styled_convolutions(module: fx.GraphModule) -> list[fx.Node]:
    plain = "gantune.styled_convolution.default"
    return [node for node in module.graph.nodes if node.op == "call_function" and str(node.target) == plain]


def _delete(module: fx.GraphModule, source: str) -> None:
    owner, _, name = source.rpartition(".")
    delattr(attrgetter(owner)(module) if owner else module, name)
