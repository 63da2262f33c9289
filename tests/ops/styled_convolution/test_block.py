from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from gantune.ops.native.library import instruction_sets, use_instruction_set
from gantune.ops.styled_convolution import (
    StyledOptions,
    block,
    missing,
    project_pixels_reference,
    styled_convolution_reference,
)
from gantune.ops.styled_convolution.native import pack_for

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))
SMOOTH = [0.25, 0.5, 0.25]
# N, C of the input, K of the first layer, K of the second, H, W of the input.
SHAPES = [(1, 16, 32, 8, 4, 4), (2, 7, 19, 33, 9, 5), (1, 33, 16, 5, 13, 30), (3, 4, 4, 4, 1, 1)]


@pytest.fixture(autouse=True, params=instruction_sets())
def instruction_set(request: pytest.FixtureRequest) -> Iterator[None]:
    with use_instruction_set(request.param):
        yield


class Case:
    """A block with random weights, what the operator gives, and what the definition gives in float64."""

    def __init__(self, shape: tuple[int, ...], *, shared_noise: bool = False) -> None:
        torch.manual_seed(0)
        N, C, K, L, H, W = shape
        self.x = torch.randn(N, C, H, W)
        self.weights = torch.randn(4 * K, C, 2, 2) / (2 * C**0.5), torch.randn(L, K, 3, 3) / (3 * K**0.5)
        self.first, self.second = (
            {
                "scale_in": torch.randn(N, c),
                "scale_out": torch.randn(N, k),
                "noise": torch.randn(1 if shared_noise else N, 1, 2 * H, 2 * W),
                "bias": torch.randn(k),
                "slope": torch.rand(k),
                "clamp": 3.0,
            }
            for c, k in ((C, K), (K, L))
        )
        self.rgb = torch.randn(N, 3, L), torch.randn(3)
        self.image = torch.randn(N, 3, 2 * H, 2 * W)

    def run(self, *, products: str = "fp32", projects: bool, image: Tensor | None = None) -> Tensor:
        packed = (
            pack_for(self.weights[0], smooth=SMOOTH, products=products),  # type: ignore[arg-type]
            pack_for(self.weights[1], smooth=None, products=products),  # type: ignore[arg-type]
        )
        first, second = list(self.first.values()), list(self.second.values())  # the clamp comes last
        result: Tensor = torch.ops.gantune.styled_block(
            self.x,
            *(packed[0], self.weights[0].shape[0], first[:-1], SMOOTH, first[-1]),
            *(packed[1], self.weights[1].shape[0], second[:-1], second[-1]),
            products,
            *((*self.rgb, 2.0) if projects else (None, None, None)),
            image,
        )
        return result

    def expect(self, *, projects: bool, image: Tensor | None = None) -> Tensor:
        x = styled_convolution_reference(
            self.x.double(), self.weights[0].double(), StyledOptions(**doubled(self.first), smooth=SMOOTH)
        )
        y = styled_convolution_reference(x, self.weights[1].double(), StyledOptions(**doubled(self.second)))
        if projects:
            y = project_pixels_reference(y, self.rgb[0].double(), self.rgb[1].double(), 2.0)
        return y if image is None else y + image


def doubled(steps: dict[str, object]) -> dict[str, object]:
    return {name: step.double() if isinstance(step, Tensor) else step for name, step in steps.items()}


@pytest.mark.parametrize("rows", [4, 8, 1000])
@pytest.mark.parametrize("projects", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_block_equals_the_definition_in_bands_of_any_height(
    shape: tuple[int, ...], projects: bool, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block, "BAND_BYTES", rows * 2 * shape[5] * shape[2] * 4)
    monkeypatch.setattr(block, "PROJECTED_BYTES", rows * shape[5] * shape[3] * 4)
    case = Case(shape)
    found, expected = case.run(projects=projects), case.expect(projects=projects)
    torch.testing.assert_close(found.double(), expected, atol=1e-4, rtol=0)
    assert found.is_contiguous(memory_format=torch.contiguous_format if projects else torch.channels_last)


def test_one_noise_serves_the_batch() -> None:
    case = Case(SHAPES[1], shared_noise=True)
    found, expected = case.run(projects=False), case.expect(projects=False)
    torch.testing.assert_close(found.double(), expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize("samples", [2, 1])
def test_an_image_is_added_and_spread_over_the_batch(samples: int) -> None:
    case = Case(SHAPES[1])
    image = case.image[:samples]
    found, expected = case.run(projects=True, image=image), case.expect(projects=True, image=image)
    torch.testing.assert_close(found.double(), expected, atol=1e-4, rtol=0)


def test_half_precision_loses_what_bfloat16_loses() -> None:
    case = Case((1, 64, 32, 32, 8, 8))
    found, expected = case.run(products="bf16", projects=False), case.expect(projects=False)
    noise = (found - expected).square().mean() / expected.square().mean()
    assert 43 < -10 * torch.log10(noise) < 60


def test_torch_is_told_the_shape_and_the_memory_format() -> None:
    case = Case(SHAPES[1])
    for projects in (False, True):
        with torch._subclasses.FakeTensorMode(allow_non_fake_inputs=True) as mode:
            fake = Case.__new__(Case)
            fake.__dict__.update(case.__dict__, x=mode.from_tensor(case.x))
            told = fake.run(projects=projects)
        found = case.run(projects=projects)
        assert (told.shape, told.stride()) == (found.shape, found.stride())
