from collections.abc import Iterator

import pytest
import torch

from gantune.errors import UnsupportedError
from gantune.ops.native.library import instruction_sets, use_instruction_set
from gantune.ops.styled_convolution import (
    StyledOptions,
    missing,
    styled_convolution,
    styled_convolution_reference,
    upsampling,
)
from gantune.ops.styled_convolution.forms import FORMS, pack_weight
from gantune.ops.styled_convolution.native import pack_for

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))


@pytest.fixture(autouse=True, params=instruction_sets())
def instruction_set(request: pytest.FixtureRequest) -> Iterator[None]:
    with use_instruction_set(request.param):
        yield


SHAPES = [(1, 64, 3, 9, 11), (2, 91, 40, 13, 7), (3, 5, 33, 4, 4), (1, 16, 32, 1, 1), (1, 17, 16, 30, 2)]


def draw(
    shape: tuple[int, ...], *, up: bool, padding: int = 1
) -> tuple[torch.Tensor, torch.Tensor, dict[str, object]]:
    torch.manual_seed(0)
    n, c, k, h, w = shape
    weight = torch.randn(4 * k, c, 2, 2) / (2 * c**0.5) if up else torch.randn(k, c, 3, 3) / (3 * c**0.5)
    height, width = (2 * h, 2 * w) if up else (h + 2 * padding - 2, w + 2 * padding - 2)
    steps = {
        "scale_in": torch.randn(n, c),
        "scale_out": torch.randn(n, k),
        "noise": torch.randn(n, 1, height, width),
        "bias": torch.randn(k),
        "slope": torch.rand(k),
        "clamp": 3.0,
        "padding": padding,
        "smooth": [0.25, 0.5, 0.25] if up else None,
    }
    return torch.randn(n, c, h, w), weight, steps


def reference(x: torch.Tensor, weight: torch.Tensor, steps: dict[str, object]) -> torch.Tensor:
    double = {k: v.double() if isinstance(v, torch.Tensor) else v for k, v in steps.items()}
    return styled_convolution_reference(x.double(), weight.double(), StyledOptions(**double))  # type: ignore[arg-type]


@pytest.mark.parametrize("padding", [1, 2])
@pytest.mark.parametrize("shape", SHAPES)
def test_convolution_equals_the_definition(shape: tuple[int, ...], padding: int) -> None:
    x, weight, steps = draw(shape, up=False, padding=padding)
    found = styled_convolution(x, weight, StyledOptions(**steps))  # type: ignore[arg-type]
    torch.testing.assert_close(found.double(), reference(x, weight, steps), atol=2e-5, rtol=0)


@pytest.mark.parametrize("shape", SHAPES)
def test_upsampling_equals_the_definition(shape: tuple[int, ...]) -> None:
    x, weight, steps = draw(shape, up=True)
    found = styled_convolution(x, weight, StyledOptions(**steps))  # type: ignore[arg-type]
    torch.testing.assert_close(found.double(), reference(x, weight, steps), atol=2e-5, rtol=0)


@pytest.mark.parametrize("left_out", ["scale_in", "scale_out", "noise", "bias", "slope", "clamp"])
@pytest.mark.parametrize("up", [False, True])
def test_each_step_can_be_left_out(up: bool, left_out: str) -> None:
    x, weight, steps = draw((2, 20, 18, 6, 5), up=up)
    steps[left_out] = None
    found = styled_convolution(x, weight, StyledOptions(**steps))  # type: ignore[arg-type]
    torch.testing.assert_close(found.double(), reference(x, weight, steps), atol=2e-5, rtol=0)


@pytest.mark.parametrize("up", [False, True])
def test_half_precision_loses_what_bfloat16_loses(up: bool) -> None:
    x, weight, steps = draw((1, 64, 32, 16, 16), up=up)
    steps |= {"clamp": None, "slope": None, "noise": None, "bias": None, "scale_out": None}
    expected = reference(x, weight, steps)
    found = styled_convolution(x, weight, StyledOptions(**steps, products="bf16"))  # type: ignore[arg-type]
    noise = (found - expected).square().mean() / expected.square().mean()
    # Both factors round to 8 bits (52 dB in a direct convolution); the transforms cost about 4 dB.
    assert 45 < -10 * torch.log10(noise) < 60


def test_one_noise_serves_the_batch_and_planar_inputs_are_taken() -> None:
    x, weight, steps = draw((2, 8, 8, 6, 6), up=False)
    steps["noise"] = torch.randn(1, 1, 6, 6)
    for given in (x, x.contiguous(memory_format=torch.channels_last), x.transpose(2, 3)):
        found = styled_convolution(given, weight, StyledOptions(**steps))  # type: ignore[arg-type]
        torch.testing.assert_close(found.double(), reference(given, weight, steps), atol=2e-5, rtol=0)
        assert found.is_contiguous(memory_format=torch.channels_last)


def test_a_changed_weight_is_packed_anew() -> None:
    x, weight, _ = draw((1, 8, 8, 6, 6), up=False)
    for _ in range(3):
        other = torch.randn_like(weight)
        found = styled_convolution(x, other, StyledOptions())
        torch.testing.assert_close(found.double(), reference(x, other, {}), atol=1e-4, rtol=0)
        other.mul_(2)
        found = styled_convolution(x, other, StyledOptions())
        torch.testing.assert_close(found.double(), reference(x, other, {}), atol=1e-4, rtol=0)


@pytest.mark.parametrize("num_threads", [1, 2, 3])
def test_the_result_does_not_depend_on_the_number_of_threads(num_threads: int) -> None:
    x, weight, steps = draw((1, 32, 32, 40, 40), up=False)
    expected = styled_convolution(x, weight, StyledOptions(**steps))  # type: ignore[arg-type]
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(num_threads)
        assert torch.equal(styled_convolution(x, weight, StyledOptions(**steps)), expected)  # type: ignore[arg-type]
    finally:
        torch.set_num_threads(before)


def test_other_types_and_shapes_are_refused() -> None:
    x, weight, _ = draw((1, 8, 8, 6, 6), up=False)
    with pytest.raises(UnsupportedError, match="takes float32 on a CPU"):
        styled_convolution(x.double(), weight, StyledOptions())
    with pytest.raises(UnsupportedError, match=r"takes a weight \[K, 8, 3, 3\]"):
        styled_convolution(x, weight[:, :, :1, :1], StyledOptions())


def test_the_operator_satisfies_torch() -> None:
    x, weight, _ = draw((2, 8, 8, 6, 6), up=False)
    arguments = (x, weight, StyledOptions().around, 1, None, None, "fp32")
    torch.library.opcheck(
        torch.ops.gantune.styled_convolution.default, arguments, test_utils="test_faketensor"
    )


@pytest.mark.parametrize("products", ["fp32", "bf16"])
def test_bands_of_rows_give_what_the_whole_image_gives(
    products: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, weight, steps = draw((2, 5, 33, 21, 9), up=True)
    options = StyledOptions(**steps, products=products)  # type: ignore[arg-type]
    whole = styled_convolution(x, weight, options)

    # Bands of the smallest height, of one more, and one that does not divide the image.
    for rows in (1, 5, 8):
        size = 2 if products == "bf16" else 4
        monkeypatch.setattr(upsampling, "BAND_BYTES", rows * 33 * 2 * 20 * size)
        banded = styled_convolution(x, weight, options)
        bound = 2e-5 if products == "fp32" else 0.05
        torch.testing.assert_close(banded, whole, atol=bound, rtol=0)


def test_a_packed_weight_gives_what_the_plain_one_gives() -> None:
    for up in (False, True):
        x, weight, steps = draw((2, 20, 18, 6, 5), up=up)
        options = StyledOptions(**steps)  # type: ignore[arg-type]
        packed = pack_for(weight, smooth=options.smooth, products="fp32")
        found = torch.ops.gantune.styled_convolution_packed(
            x, packed, weight.shape[0], options.around, options.padding, options.smooth, options.clamp, "fp32"
        )  # fmt: skip
        assert torch.equal(found, styled_convolution(x, weight, options))


def test_a_weight_packed_for_other_registers_is_refused() -> None:
    x, weight, _ = draw((1, 8, 8, 5, 5), up=False)
    packed = pack_weight(weight, FORMS["fp32"][0], lanes=64)
    with pytest.raises(UnsupportedError, match="packed for registers of 64 floats"):
        torch.ops.gantune.styled_convolution_packed(
            x, packed, 8, StyledOptions().around, 1, None, None, "fp32"
        )


@pytest.mark.parametrize("up", [False, True])
@pytest.mark.parametrize("shape", [*SHAPES, (1, 64, 32, 8, 8)])
def test_direct_products_round_the_factors_alone(shape: tuple[int, ...], up: bool) -> None:
    x, weight, steps = draw(shape, up=up)
    steps |= {"scale_in": None, "clamp": None}
    # Rounded factors leave the sums, and what is around them: of an up-sampling layer also its phases.
    rounded = [tensor.bfloat16().float() for tensor in (x, weight)]
    expected = reference(rounded[0], rounded[1], steps)
    found = styled_convolution(x, weight, StyledOptions(**steps, products="bf16_direct"))  # type: ignore[arg-type]
    if up:
        # The phases are kept in bfloat16 as well: 8 bits of what three taps average twice.
        error = (found - expected).square().mean() / expected.square().mean()
        assert -10 * torch.log10(error) > 50
    else:
        torch.testing.assert_close(found.double(), expected, atol=1e-4, rtol=0)
