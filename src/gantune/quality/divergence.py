"""Where two networks part, layer by layer, and where a network first gives NaN or infinity."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from gantune.quality.paired import EXACT_TOLERANCE

Outputs = dict[str, Tensor]


@dataclass(frozen=True)
class LayerDifference:
    """Say how far one layer's output is from the reference's: |a − b| at most, over max(1, max |b|)."""

    name: str
    relative_error: float
    is_finite: bool


def compare_layers(
    reference: nn.Module, candidate: nn.Module, inputs: Mapping[str, Tensor]
) -> tuple[LayerDifference, ...]:
    """Run both networks on `inputs` and compare the layers of one name and shape, in the reference's order.

    The order is that in which layers finish, so that a part stands before the block that holds it. The whole
    network stands last, as "output". A layer called more than once counts each time, as `name#2`.
    """
    expected = _record_outputs(reference, inputs)
    found = _record_outputs(candidate, inputs)
    return tuple(
        _difference(name, found[name], output)
        for name, output in expected.items()
        if name in found and found[name].shape == output.shape
    )


def find_divergence(
    reference: nn.Module,
    candidate: nn.Module,
    inputs: Mapping[str, Tensor],
    *,
    tolerance: float = EXACT_TOLERANCE,
) -> LayerDifference | None:
    """Name the first layer that differs by more than `tolerance`; None where the outputs agree to it."""
    differences = compare_layers(reference, candidate, inputs)
    outputs = [difference for difference in differences if difference.name == "output"]
    if outputs and outputs[0].relative_error <= tolerance:
        return None
    return next((found for found in differences if not found.relative_error <= tolerance), None)


def find_non_finite_layer(network: nn.Module, inputs: Mapping[str, Tensor]) -> str | None:
    """Name the first layer whose output holds NaN or infinity; None where every output is finite."""
    outputs = _record_outputs(network, inputs)
    return next((name for name, output in outputs.items() if not output.isfinite().all()), None)


def _difference(name: str, found: Tensor, expected: Tensor) -> LayerDifference:
    scale = max(1.0, float(expected.abs().max())) if expected.numel() else 1.0
    error = float((found - expected).abs().max()) / scale if expected.numel() else 0.0
    return LayerDifference(name, error, bool(found.isfinite().all()))


@torch.inference_mode()
def _record_outputs(network: nn.Module, inputs: Mapping[str, Tensor]) -> Outputs:
    with _recording(network) as outputs:
        network(**inputs)
    return outputs


@contextmanager
def _recording(network: nn.Module) -> Iterator[Outputs]:
    """Keep a float64 copy of every module's output while the block runs; in-place operations follow."""
    outputs: Outputs = {}

    def record(name: str, output: object) -> None:
        if not isinstance(output, Tensor):
            return
        calls = 1 + sum(key.split("#")[0] == name for key in outputs)
        outputs[name if calls == 1 else f"{name}#{calls}"] = output.detach().to(torch.float64, copy=True)

    handles = [
        module.register_forward_hook(
            lambda _module, _args, output, name=name: record(name or "output", output)
        )
        for name, module in network.named_modules()
    ]
    try:
        yield outputs
    finally:
        for handle in handles:
            handle.remove()
