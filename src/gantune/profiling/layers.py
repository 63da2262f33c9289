"""The time of each layer of a network, measured from inside."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn

from gantune.measuring import time_call
from gantune.records.report import LayerTime

MIN_SHARE = 0.002


def time_layers(
    network: nn.Module, inputs: Mapping[str, Tensor], *, num_repeats: int = 5
) -> tuple[LayerTime, ...]:
    """Time every module's own work in one call on `inputs`, the median over repeats after a warm-up.

    A module's own time is its time less that of the modules it calls, so the shares add up to one (modules
    below 0.2 % are left out). The layer that takes longest comes first.
    """
    with torch.inference_mode():
        network(**inputs)
        repeats = [_time_once(network, inputs) for _ in range(num_repeats)]
    names = dict(network.named_modules())
    own_ms = {name: float(np.median([repeat.get(name, 0.0) for repeat in repeats])) for name in names}
    total_ms = sum(own_ms.values())
    layers = [
        LayerTime(name=name or "(network)", kind=type(names[name]).__name__, time_ms=ms, share=ms / total_ms)
        for name, ms in own_ms.items()
        if ms >= MIN_SHARE * total_ms
    ]
    return tuple(sorted(layers, key=lambda layer: -layer.time_ms))


def name_bottleneck(layers: tuple[LayerTime, ...]) -> str:
    """Say in one sentence which kind of layer takes the most time, and which single one."""
    by_kind: dict[str, float] = defaultdict(float)
    for layer in layers:
        by_kind[layer.kind] += layer.share
    kind = max(by_kind, key=lambda name: by_kind[name])
    worst = layers[0]
    return (
        f"{kind} layers take {by_kind[kind]:.0%} of the time; the slowest layer, {worst.name}, "
        f"takes {worst.share:.0%} ({worst.time_ms:.1f} ms)."
    )


def _time_once(network: nn.Module, inputs: Mapping[str, Tensor]) -> dict[str, float]:
    own_ms: dict[str, float] = defaultdict(float)
    with _timed_modules(network, own_ms):
        network(**inputs)
    return own_ms


@contextmanager
def _timed_modules(network: nn.Module, own_ms: dict[str, float]) -> Iterator[None]:
    """Wrap every module's forward for the block; `inner_ms` adds up what the modules below have taken."""
    inner_ms = [0.0]
    wrapped = list(network.named_modules())

    def wrap(name: str, forward: Callable[..., object]) -> Callable[..., object]:
        def timed(*args: object, **kwargs: object) -> object:
            results: list[object] = []
            inner_ms.append(0.0)
            total_ms = time_call(lambda: results.append(forward(*args, **kwargs)))
            own_ms[name] += total_ms - inner_ms.pop()
            inner_ms[-1] += total_ms
            return results[0]

        return timed

    for name, module in wrapped:
        module.forward = wrap(name, module.forward)
    try:
        yield
    finally:
        for _, module in wrapped:
            del module.forward
