"""torch.compile takes the synthesis of every golden network as one graph."""

from collections.abc import Callable
from typing import cast

import pytest
import torch
from torch import Tensor

from gantune.networks.stylegan2_synthesis import NoiseMode
from gantune.ops import use_implementation
from stylegan_golden import assert_exact, load_golden

Synthesis = Callable[..., Tensor]
CASES = [
    pytest.param("stylegan2-uncond-32", "auto", marks=pytest.mark.ci),
    ("stylegan2-uncond-32", "portable"),
    pytest.param("stylegan3-t-32", "auto", marks=pytest.mark.ci),
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
    with torch.no_grad():
        return cast(Tensor, network.mapping(z, None))
