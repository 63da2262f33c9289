"""Each layer of a network with its time, MACs and bytes, and its place on the machine's roofline."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from gantune.measuring.macs import count_macs
from gantune.profiling.layers import time_layers
from gantune.records.profile import LayerProfile, Roofline

NETWORK_ITSELF = "(network)"


def profile_layers(
    network: nn.Module, inputs: Mapping[str, Tensor], roofline: Roofline, *, num_repeats: int = 5
) -> tuple[LayerProfile, ...]:
    """Profile every layer that takes at least 0.2 % of a call, longest first.

    `bytes` are the least a layer can move: its parameters, inputs and outputs once each. Raises
    `UnsupportedError` where an operation's MACs cannot be counted.
    """
    timed = time_layers(network, inputs, num_repeats=num_repeats)
    with torch.inference_mode():
        macs = count_macs(network, inputs).by_layer
        moved = _count_bytes(network, inputs)
    profiles = []
    for layer in timed:
        name = "" if layer.name == NETWORK_ITSELF else layer.name
        layer_macs, layer_bytes = macs.get(name, 0), moved.get(name, 0)
        profiles.append(
            LayerProfile(
                name=layer.name,
                kind=layer.kind,
                time_ms=layer.time_ms,
                share=layer.share,
                macs=layer_macs,
                bytes=layer_bytes,
                roofline_share=place_on_roofline(layer.time_ms, layer_macs, layer_bytes, roofline),
            )
        )
    return tuple(profiles)


def place_on_roofline(time_ms: float, macs: int, num_bytes: int, roofline: Roofline) -> float | None:
    """Give the least time the roofline allows over the time taken; None where there is nothing to do."""
    least_ms = max(2 * macs / roofline.convolution_gflops, num_bytes / roofline.copy_gb_s) / 1e6
    return least_ms / time_ms if least_ms > 0 and time_ms > 0 else None


def _count_bytes(network: nn.Module, inputs: Mapping[str, Tensor]) -> dict[str, int]:
    """Count for each module the bytes of parameters of its own, and of tensors that enter and leave it."""
    moved: dict[str, int] = defaultdict(int)
    with _seeing_tensors(network, moved):
        network(**inputs)
    for name, module in network.named_modules():
        if any(True for _ in module.children()):
            # What its children move is theirs; only its own parameters are left.
            moved[name] = 0
        moved[name] += sum(p.numel() * p.element_size() for p in module.parameters(recurse=False))
    return moved


@contextmanager
def _seeing_tensors(network: nn.Module, moved: dict[str, int]) -> Iterator[None]:
    def add(name: str, values: object) -> None:
        for value in values if isinstance(values, tuple | list) else (values,):
            if isinstance(value, Tensor):
                moved[name] += value.numel() * value.element_size()

    handles = []
    for name, module in network.named_modules():

        def see(_module: nn.Module, args: object, output: object, name: str = name) -> None:
            add(name, args)
            add(name, output)

        handles.append(module.register_forward_hook(see))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
