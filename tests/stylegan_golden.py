"""The golden StyleGAN networks: weights out of their pickles, and the numbers the authors' own code gave."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor, nn

from gantune.checkpoints.inert import InertObject
from gantune.checkpoints.legacy_torch import PICKLE_BUILDERS
from gantune.checkpoints.safe_pickle import read_pickle_file
from gantune.networks.catalogue import build_network

GOLDEN = Path(__file__).parent / "golden"
STYLEGAN2_NAMES = (
    "stylegan2-uncond-32",
    "stylegan2-resnet-32",
    "stylegan2-cond-16-clamp-fp16",
    "stylegan2ada-uncond-32",
)
STYLEGAN3_NAMES = ("stylegan3-t-32", "stylegan3-r-32")
NAMES = (*STYLEGAN2_NAMES, *STYLEGAN3_NAMES)
FORM_NAMES = ("reference", "portable", "auto")


@dataclass(frozen=True)
class Golden:
    """A generator and a discriminator with their golden weights, and the inputs and outputs."""

    generator: nn.Module
    discriminator: nn.Module
    numbers: dict[str, Tensor]

    @property
    def labels(self) -> Tensor | None:
        """The one-hot labels; None where the network has none."""
        return self.numbers.get("c")


@cache
def load_golden(name: str) -> Golden:
    """Build both networks from the recorded arguments and load the pickled weights, strictly."""
    with safe_open(GOLDEN / f"{name}.safetensors", "pt") as file:
        arguments = {
            key: json.loads(text) for key, text in file.metadata().items() if key.endswith("_kwargs")
        }
        numbers = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    pickled = read_pickle_file(GOLDEN / f"{name}.pkl", PICKLE_BUILDERS)
    assert isinstance(pickled, dict)
    family = name.partition("-")[0].removesuffix("ada")
    networks = {}
    for role, key in (("generator", "G_ema"), ("discriminator", "D")):
        config = arguments[f"{role}_kwargs"]
        del config["class_name"]
        networks[role] = build_network(family, config, role=role)
        networks[role].load_state_dict(_pickled_state(pickled[key]), strict=True)
    return Golden(networks["generator"], networks["discriminator"], numbers)


def _pickled_state(network: object) -> dict[str, Tensor]:
    assert isinstance(network, InertObject)
    record = network.arguments[0]
    assert isinstance(record, dict)
    attributes = record["state"]
    own = {**attributes["_parameters"], **attributes["_buffers"]}
    state = {name: value for name, value in own.items() if value is not None}
    for name, child in attributes["_modules"].items():
        if child is not None:
            state |= {f"{name}.{key}": value for key, value in _pickled_state(child).items()}
    return state


def assert_exact(found: Tensor, expected: Tensor) -> None:
    """Hold images, ws and logits to max |a − b| ≤ 1e-4 · max(1, max |b|)."""
    _assert_within(found, expected, 1e-4 * max(1.0, expected.abs().max().item()))


def assert_relative(found: Tensor, expected: Tensor) -> None:
    """Hold penalties, gradients and path lengths to max |a − b| ≤ 1e-4 · max |b|."""
    _assert_within(found, expected, 1e-4 * expected.abs().max().item())


def assert_relative_or_nearer(found: Tensor, expected: Tensor, exact: Tensor) -> None:
    """Hold like `assert_relative`, or nearer to the float64 value `exact` than the golden value is itself.

    Where minibatch statistics divide differences of almost equal features, float32 keeps few digits of a
    gradient: the golden value is then as far from the exact one as a form that adds in another order.
    """
    own_error = (expected.double() - exact).abs().max().item()
    if (found - expected).abs().max().item() > 1e-4 * expected.abs().max().item():
        difference = (found.double() - exact).abs().max().item()
        assert difference <= own_error, f"differs by {difference:.3g}, the golden value by {own_error:.3g}"


def _assert_within(found: Tensor, expected: Tensor, bound: float) -> None:
    assert found.shape == expected.shape
    assert found.dtype == torch.float32
    difference = (found - expected).abs().max().item()
    assert difference <= bound, f"differs by {difference:.3g}, allowed is {bound:.3g}"
