"""torch.compile takes the synthesis of every golden network as one graph."""

from collections.abc import Callable
from typing import Literal, cast

import pytest
import torch
from torch import Tensor

from gantune.networks.catalogue import build_network
from gantune.networks.contract import Network
from gantune.networks.stylegan2_synthesis import NoiseMode
from gantune.ops import use_implementation
from network_samples import SMALL_DISCRIMINATORS, SMALL_GENERATORS
from stylegan_golden import assert_exact, load_golden

Synthesis = Callable[..., Tensor]
CASES = [
    pytest.param("stylegan2-uncond-32", "auto", marks=pytest.mark.ci),
    ("stylegan2-uncond-32", "portable"),
    ("stylegan2-resnet-32", "auto"),
    ("stylegan2-cond-16-clamp-fp16", "auto"),
    pytest.param("stylegan3-t-32", "auto", marks=pytest.mark.ci),
    ("stylegan3-r-32", "auto"),
]


@pytest.mark.slow
@pytest.mark.timeout(280)
@pytest.mark.parametrize(("name", "implementation"), CASES)
def test_synthesis_is_one_graph_that_equals_eager(name: str, implementation: str) -> None:
    synthesis = cast(Synthesis, load_golden(name).generator.synthesis)
    ws = golden_ws(name)

    def run(ws: Tensor, noise_mode: NoiseMode = "const") -> Tensor:
        return synthesis(ws, noise_mode=noise_mode)

    with torch.no_grad(), use_implementation(implementation):
        expected = run(ws)
        torch._dynamo.reset()
        found = torch.compile(run, fullgraph=True, backend="aot_eager")(ws)
    assert_exact(found, expected)


def golden_ws(name: str) -> Tensor:
    network = load_golden(name).generator
    z = torch.randn(2, cast(int, network.z_dim), generator=torch.Generator().manual_seed(1))
    labels = load_golden(name).labels
    with torch.no_grad():
        return cast(Tensor, network.mapping(z, None if labels is None else labels[:2]))


@pytest.mark.slow
@pytest.mark.timeout(280)
@pytest.mark.parametrize("architecture", ["orig", "skip", "resnet"])
@pytest.mark.parametrize("role", ["generator", "discriminator"])
def test_every_architecture_is_one_graph_that_equals_eager(
    architecture: str, role: Literal["generator", "discriminator"]
) -> None:
    small = SMALL_GENERATORS if role == "generator" else SMALL_DISCRIMINATORS
    torch.manual_seed(2)
    network = build_network("stylegan2", {**small["stylegan2"], "architecture": architecture}, role=role)
    inputs = cast(Network, network).sample_inputs(4, seed=3)
    with torch.no_grad():
        expected = network(**inputs)
        torch._dynamo.reset()
        found = torch.compile(network, fullgraph=True, backend="aot_eager")(**inputs)
    assert_exact(found, expected)
