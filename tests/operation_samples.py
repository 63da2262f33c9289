"""Calls of the operations for tests: golden ones, small ones, and one layer of official size each."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from torch import Tensor

from gantune import ops
from gantune.errors import UnsupportedError
from gantune.ops.catalogue import OPERATIONS

GOLDEN = Path(__file__).parent / "golden" / "ops.safetensors"
FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    "upfirdn2d": ops.upfirdn2d,
    "bias_act": ops.bias_act,
    "filtered_lrelu": ops.filtered_lrelu,
    "modulated_conv2d": ops.modulated_conv2d,
}
DIFFERENTIABLE = {
    "upfirdn2d": ("x",),
    "bias_act": ("x", "b"),
    "filtered_lrelu": ("x", "b"),
    "modulated_conv2d": ("x", "weight", "styles"),
}
# Every form of every operation: a new one is tested by being listed in its operation's tuple.
FORMS = [(operation.name, form.name) for operation in OPERATIONS for form in operation.forms]
FAST_FORMS = [(operation, form) for operation, form in FORMS if form != "reference"]


@dataclass
class Call:
    """One call of an operation; an absent filter is None."""

    operation: str
    tensors: dict[str, Tensor | None]
    keywords: dict[str, object] = field(default_factory=dict)

    def run(self, form: str) -> Tensor:
        return FUNCTIONS[self.operation](**self.tensors, **self.keywords, implementation=form)

    def run_or_skip(self, form: str) -> Tensor:
        """Run `form`, or skip the test with the form's own reason where it refuses the call."""
        try:
            return self.run(form)
        except UnsupportedError as refusal:
            pytest.skip(str(refusal))

    def map(self, change: Callable[[Tensor], Tensor]) -> "Call":
        tensors = {name: None if t is None else change(t) for name, t in self.tensors.items()}
        return Call(self.operation, tensors, self.keywords)

    def double(self) -> "Call":
        return self.map(lambda tensor: tensor.detach().double())

    def require_gradients(self) -> list[Tensor]:
        """Make fresh leaves of the differentiable tensors and return them."""
        leaves = []
        for name in DIFFERENTIABLE[self.operation]:
            if name in self.tensors:
                self.tensors[name] = self.tensors[name].detach().clone().requires_grad_()
                leaves.append(self.tensors[name])
        return leaves


def skip_where_missing(operation: str, form: str) -> None:
    """Skip the test, with the reason, where `form` cannot run on this machine."""
    [found] = [item for item in OPERATIONS if item.name == operation]
    chosen = found.find(form)
    assert chosen is not None
    if chosen.missing is not None:
        pytest.skip(f"{form}: {chosen.missing}")


def derivatives(y: Tensor, dy: Tensor, leaves: list[Tensor]) -> tuple[list[Tensor], list[Tensor | None]]:
    """Return the gradients of Σ(y·dy), and those of the sum of their squares (None: do not exist)."""
    first = torch.autograd.grad((y * dy).sum(), leaves, create_graph=True)
    energy = sum((gradient.square().sum() for gradient in first), torch.zeros(()))
    if not energy.requires_grad:
        return list(first), [None] * len(leaves)
    return list(first), list(torch.autograd.grad(energy, leaves, allow_unused=True))


def golden_names() -> list[str]:
    with safe_open(GOLDEN, "pt") as file:
        return list(json.loads(file.metadata()["cases"]))


def load_golden(name: str) -> tuple[Call, dict[str, Tensor]]:
    """Return the call of a golden case and all tensors stored for it."""
    with safe_open(GOLDEN, "pt") as file:
        keywords = json.loads(file.metadata()["cases"])[name]
        stored = {
            key.rpartition("/")[2]: file.get_tensor(key)
            for key in file.keys()  # noqa: SIM118  (not a dict)
            if key.startswith(name + "/")
        }
    arguments = ("x", "f", "fu", "fd", "b", "weight", "styles", "noise", "resample_filter")
    operation = name.partition("/")[0]
    return Call(operation, {key: stored[key] for key in arguments if key in stored}, keywords), stored


def small_call(operation: str) -> Call:
    """Return a small float32 call with every option at work."""
    generator = torch.Generator().manual_seed(7)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator)

    taps = ops.setup_filter([1, 3, 4, 2, 1], separable=True)
    return {
        "upfirdn2d": Call(
            "upfirdn2d",
            {"x": normal(2, 2, 5, 4), "f": normal(3, 4)},
            {"up": 2, "down": [1, 2], "padding": [2, -1, 1, 2], "gain": 1.5},
        ),
        "bias_act": Call(
            "bias_act", {"x": normal(2, 3, 5, 6), "b": normal(3)}, {"act": "lrelu", "clamp": 0.8}
        ),
        "filtered_lrelu": Call(
            "filtered_lrelu",
            {"x": normal(2, 2, 5, 4), "fu": taps, "fd": taps, "b": normal(2)},
            {"up": 2, "down": 2, "padding": [4, 3, 2, 5], "clamp": 0.7},
        ),
        "modulated_conv2d": Call(
            "modulated_conv2d",
            {
                "x": normal(2, 2, 3, 4),
                "weight": normal(3, 2, 3, 3),
                "styles": normal(2, 2),
                "noise": normal(2, 1, 6, 8),
                "resample_filter": ops.setup_filter([1, 3, 3, 1]),
            },
            {"up": 2, "padding": 1, "flip_weight": False},
        ),
    }[operation]


def official_calls() -> dict[str, Call]:
    """Return layers with the image size, taps and factors of the published networks, few channels."""
    generator = torch.Generator().manual_seed(8)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator)

    def lowpass(taps: int) -> Tensor:
        return ops.setup_filter(torch.hann_window(taps + 2, periodic=False)[1:-1] + 0.1 * normal(taps))

    smooth = ops.setup_filter([1, 3, 3, 1])
    up_2 = {"up": 2, "down": 2, "padding": [9, 8, 9, 8], "clamp": 256}
    return {
        "upfirdn2d up": Call(
            "upfirdn2d",
            {"x": normal(1, 4, 256, 256), "f": smooth},
            {"up": 2, "padding": [2, 1, 2, 1], "gain": 4},
        ),
        "upfirdn2d down": Call(
            "upfirdn2d", {"x": normal(1, 4, 256, 256), "f": smooth}, {"down": 2, "padding": 1}
        ),
        "bias_act": Call(
            "bias_act", {"x": normal(1, 4, 256, 256), "b": normal(4)}, {"act": "lrelu", "clamp": 256}
        ),
        "filtered_lrelu 54": Call(
            "filtered_lrelu",
            {"x": normal(1, 20, 54, 54), "fu": lowpass(12), "fd": lowpass(12), "b": normal(20)},
            up_2,
        ),
        "filtered_lrelu 86": Call(
            "filtered_lrelu",
            {"x": normal(1, 3, 86, 86), "fu": lowpass(24), "fd": lowpass(12), "b": normal(3)},
            {"up": 4, "down": 2, "padding": [17, 14, 17, 14], "clamp": 256},
        ),
        "filtered_lrelu 278": Call(
            "filtered_lrelu",
            {"x": normal(1, 2, 278, 278), "fu": lowpass(12), "fd": lowpass(12), "b": normal(2)},
            up_2,
        ),
        "modulated_conv2d": Call(
            "modulated_conv2d",
            {
                "x": normal(1, 8, 64, 64),
                "weight": normal(8, 8, 3, 3),
                "styles": normal(1, 8) + 1,
                "noise": normal(1, 1, 128, 128),
                "resample_filter": smooth,
            },
            {"up": 2, "padding": 1, "flip_weight": False},
        ),
    }
