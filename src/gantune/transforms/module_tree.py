"""Copy a network and replace modules in the copy."""

from collections.abc import Callable
from copy import deepcopy
from typing import TypeVar, cast

from torch import nn

NetworkT = TypeVar("NetworkT")
Replace = Callable[[nn.Module], nn.Module | None]


def copy_network(network: NetworkT) -> NetworkT:
    """Copy a network; the copy is in eval mode and takes no gradients."""
    copied = deepcopy(network)
    cast(nn.Module, copied).eval().requires_grad_(False)
    return copied


def replace_modules(root: nn.Module, replace: Replace) -> int:
    """Put `replace(module)` in the place of every module below `root` where it is not None; return how many.

    A replaced module's own children are not visited.
    """
    count = 0
    for name, child in list(root.named_children()):
        replacement = replace(child)
        if replacement is None:
            count += replace_modules(child, replace)
        else:
            setattr(root, name, replacement.eval().requires_grad_(False))
            count += 1
    return count
