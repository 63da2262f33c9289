"""Check that an ncnn graph computes exactly what gantune's SRVGG or RRDB computes.

The weights of a `.bin` file mean something only in their graph, so every layer's kind, wiring and parameters
are compared with the graph of the network they are to be put into.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isclose
from pathlib import Path

from gantune.checkpoints.ncnn_file import NcnnLayer
from gantune.errors import CheckpointError

_LEAKY = {9: (2.0,), 10: (0.2,)}
# A parameter that is not written takes the value of another one (the height that of the width), or a default.
_ALIASES = {"Convolution": {11: 1, 12: 2, 13: 3, 14: 4, 15: 4, 16: 14}, "Interp": {}}
_DEFAULTS: dict[str, dict[int, float]] = {"Convolution": {2: 1, 3: 1, 19: 1}, "Interp": {1: 1, 2: 1}}
# Sizes, which the shapes of the weights answer for.
_SIZES = {"Convolution": {0, 6}, "PReLU": {0}, "Input": {0, 1, 2, 3}}


Params = Mapping[int, tuple[float, ...]]


@dataclass(frozen=True)
class _Step:
    kind: str
    sources: tuple[int, ...]
    params: Params = field(default_factory=dict)


class _Graph:
    """Grow the expected graph: each method appends one layer and returns its position."""

    def __init__(self) -> None:
        self.steps: list[_Step] = [_Step("Input", ())]

    def add(self, kind: str, *sources: int, params: Params | None = None) -> int:
        self.steps.append(_Step(kind, sources, params or {}))
        return len(self.steps) - 1

    def convolve(self, source: int, *, leaky: bool) -> int:
        params = {1: (3.0,), 2: (1.0,), 3: (1.0,), 4: (1.0,), 5: (1.0,)}
        return self.add("Convolution", source, params={**params, **(_LEAKY if leaky else {})})

    def enlarge(self, source: int, scale: int) -> int:
        return self.add("Interp", source, params={0: (1.0,), 1: (float(scale),), 2: (float(scale),)})

    def add_scaled(self, detail: int, skip: int) -> int:
        return self.add("Eltwise", detail, skip, params={0: (1.0,), 1: (0.2, 1.0)})


def check_srvgg_graph(layers: list[NcnnLayer], path: Path, *, num_conv: int, upscale: int) -> None:
    """Raise `CheckpointError` unless `layers` are an SRVGG with PReLU and `num_conv` hidden convolutions."""
    graph = _Graph()
    last = 0
    for _ in range(num_conv + 1):
        last = graph.add("PReLU", graph.convolve(last, leaky=False))
    last = graph.convolve(last, leaky=False)
    shuffled = graph.add("PixelShuffle", last, params={0: (float(upscale),)})
    graph.add("BinaryOp", shuffled, graph.enlarge(0, upscale), params={0: (0.0,)})
    _compare(layers, graph.steps, path, "SRVGG")


def check_rrdb_graph(layers: list[NcnnLayer], path: Path, *, num_block: int) -> None:
    """Raise `CheckpointError` unless `layers` are an RRDB network of `num_block` blocks and scale 4."""
    graph = _Graph()
    first = last = graph.convolve(0, leaky=False)
    for _ in range(num_block):
        last = _add_block(graph, last)
    last = graph.add("BinaryOp", first, graph.convolve(last, leaky=False), params={0: (0.0,)})
    for _ in range(2):
        last = graph.convolve(graph.enlarge(last, 2), leaky=True)
    graph.convolve(graph.convolve(last, leaky=True), leaky=False)
    _compare(layers, graph.steps, path, "RRDB")


def _add_block(graph: _Graph, block_input: int) -> int:
    last = block_input
    for _ in range(3):
        dense_input = last
        features = [dense_input]
        for _ in range(4):
            stacked = graph.add("Concat", *features, params={0: (0.0,)}) if len(features) > 1 else dense_input
            features.append(graph.convolve(stacked, leaky=True))
        detail = graph.convolve(graph.add("Concat", *features, params={0: (0.0,)}), leaky=False)
        last = graph.add_scaled(detail, dense_input)
    return graph.add_scaled(last, block_input)


def _compare(layers: list[NcnnLayer], steps: list[_Step], path: Path, network: str) -> None:
    for position, (layer, step) in enumerate(zip(layers, steps, strict=False)):
        where = f"{path}: layer {layer.name} ({layer.kind}, number {position}) does not fit an {network}"
        if layer.kind != step.kind:
            raise CheckpointError(f"{where}: a {step.kind} must stand there.")
        if not _is_fed_alike(layer, step):
            raise CheckpointError(f"{where}: it reads layers {layer.sources}, expected {step.sources}.")
        for key in sorted((set(layer.params) | set(step.params)) - _SIZES.get(layer.kind, set())):
            found, expected = _value(layer.kind, layer.params, key), _value(layer.kind, step.params, key)
            if len(found) != len(expected) or not all(map(_is_close, found, expected)):
                raise CheckpointError(f"{where}: parameter {key} is {found}, expected {expected}.")
    if len(layers) != len(steps):
        extra = f", the first extra one is {layers[len(steps)].name}" if len(layers) > len(steps) else ""
        raise CheckpointError(f"{path} has {len(layers)} layers, an {network} {len(steps)}{extra}.")


def _is_fed_alike(layer: NcnnLayer, step: _Step) -> bool:
    if layer.kind == "BinaryOp":
        return sorted(layer.sources) == sorted(step.sources)
    return layer.sources == step.sources


def _value(kind: str, params: Params, key: int) -> tuple[float, ...]:
    if key in params:
        return params[key]
    aliases = _ALIASES.get(kind, {})
    if key in aliases:
        return _value(kind, params, aliases[key])
    return (float(_DEFAULTS.get(kind, {}).get(key, 0.0)),)


def _is_close(found: float, expected: float) -> bool:
    return isclose(found, expected, rel_tol=1e-6)
