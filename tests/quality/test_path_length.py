from typing import Literal

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from gantune.errors import UnsupportedError, UsageError
from gantune.quality.path_length import PathLengthOptions, perceptual_path_length, slerp
from gantune.records.interface import InputSpec, OutputSpec


class LinearGenerator(nn.Module):
    """w = 2z and image = A·w: every path length is known by hand."""

    family = "linear"
    z_dim = w_dim = 6
    c_dim = 0
    num_ws = 1
    resolution = 2
    img_channels = 3
    output = OutputSpec()
    inputs = (InputSpec(name="z", kind="latent", shape=("N", 6)),)

    def __init__(self) -> None:
        super().__init__()
        self.config: dict[str, object] = {}
        self.matrix = nn.Parameter(
            torch.randn(6, 12, generator=torch.Generator().manual_seed(0), dtype=torch.float64),
            requires_grad=False,
        )

    def sample_inputs(self, n: int, seed: int) -> dict[str, Tensor]:
        return {"z": torch.zeros(n, 6)}

    def mapping(
        self,
        z: Tensor,
        c: Tensor | None = None,
        truncation_psi: float | Tensor = 1,
        truncation_cutoff: int | None = None,
    ) -> Tensor:
        return (2 * z).unsqueeze(1)

    def synthesis(self, ws: Tensor, noise_mode: Literal["const", "none", "random"] = "const") -> Tensor:
        return (ws[:, 0] @ self.matrix).reshape(-1, 3, 2, 2)


def squared_distance(a: Tensor, b: Tensor) -> Tensor:
    return (a - b).square().sum(dim=(1, 2, 3))


def latents(index: int) -> tuple[Tensor, Tensor]:
    z0, z1 = torch.from_numpy(np.random.default_rng([5, index]).standard_normal((2, 6)))
    return z0, z1


@pytest.mark.parametrize("sampling", ["full", "end"])
def test_in_w_a_linear_generator_has_the_length_of_its_mapped_difference(
    sampling: Literal["full", "end"],
) -> None:
    network = LinearGenerator()
    options = PathLengthOptions(space="w", sampling=sampling, num_paths=20, seed=5, batch=7)
    _, found = perceptual_path_length(network, squared_distance, options)
    expected = [
        float(((2 * (z1 - z0)) @ network.matrix).square().sum()) for z0, z1 in map(latents, range(20))
    ]
    assert found == pytest.approx(expected, rel=1e-6)


def test_in_z_a_linear_generator_has_the_speed_of_the_great_circle() -> None:
    network = LinearGenerator()
    options = PathLengthOptions(space="z", sampling="end", num_paths=10, seed=5, epsilon=1e-6)
    _, found = perceptual_path_length(network, squared_distance, options)
    for index, length in enumerate(found):
        a, b = (z / z.norm() for z in latents(index))
        angle = torch.acos(a @ b)
        # The derivative of a slerp at its start: angle · (b − cos·a) / sin.
        velocity = angle * (b - (a @ b) * a) / angle.sin()
        assert length == pytest.approx(float((2 * velocity @ network.matrix).square().sum()), rel=1e-4)


def test_the_mean_leaves_out_the_extremes() -> None:
    network = LinearGenerator()
    options = PathLengthOptions(num_paths=200, seed=5, trimmed_share=0.05, batch=64)
    mean, samples = perceptual_path_length(network, squared_distance, options)
    ordered = np.sort(samples)
    assert mean == pytest.approx(ordered[10:-10].mean())


def test_the_figure_does_not_depend_on_the_batch() -> None:
    network = LinearGenerator()
    figures = [
        perceptual_path_length(network, squared_distance, PathLengthOptions(num_paths=9, batch=batch))[0]
        for batch in (1, 4)
    ]
    assert figures[0] == pytest.approx(figures[1], rel=1e-9)


def test_a_slerp_ends_at_both_ends_on_the_sphere() -> None:
    a, b = torch.tensor([[2.0, 0.0]]), torch.tensor([[0.0, 3.0]])
    assert torch.allclose(slerp(a, b, torch.tensor([[0.0]])), torch.tensor([[1.0, 0.0]]))
    assert torch.allclose(slerp(a, b, torch.tensor([[0.5]])), torch.full((1, 2), 0.5**0.5))
    assert torch.allclose(slerp(a, b, torch.tensor([[1.0]])), torch.tensor([[0.0, 1.0]]), atol=1e-6)


def test_networks_without_a_mapping_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="mapping and synthesis"):
        perceptual_path_length(nn.Identity(), squared_distance)
    with pytest.raises(UsageError, match="num_paths is 1"):
        PathLengthOptions(num_paths=1)
