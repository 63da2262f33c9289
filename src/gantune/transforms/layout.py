"""Choose the order of tensors in memory."""

from typing import Literal

import torch
from torch import Tensor, nn

from gantune.errors import UsageError
from gantune.transforms.module_tree import NetworkT, copy_network

MemoryFormat = Literal["channels_last"]


def layout(network: NetworkT, memory_format: MemoryFormat = "channels_last") -> NetworkT:
    """Return a copy whose convolution weights, and so its activations, are channels-last; exact."""
    if memory_format != "channels_last":
        raise UsageError(f"There is no layout {memory_format!r}; there is: channels_last.")
    copied = copy_network(network)
    assert isinstance(copied, nn.Module)
    for module in copied.modules():
        for tensor in (*module.parameters(recurse=False), *module.buffers(recurse=False)):
            _order(tensor)
    return copied


def _order(tensor: Tensor) -> None:
    if tensor.ndim == 4:
        tensor.data = tensor.data.contiguous(memory_format=torch.channels_last)
