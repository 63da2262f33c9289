import pytest
import torch

from gantune.errors import UnsupportedError, UsageError
from gantune.ops import setup_filter
from gantune.ops.padding import Padding
from gantune.ops.resampled_convolution import ConvolutionOptions, convolve_resampled
from gantune.ops.upfirdn2d.reference import upfirdn2d_reference
from gantune.transforms import resampling
from gantune.transforms.up_convolution import FORMS, Form, UpConvolution
from stylegan_golden import STYLEGAN2_NAMES, load_golden
from transform_samples import EXACT, build_small, prepare, relative_error


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", STYLEGAN2_NAMES)
def test_every_form_gives_the_authors_numbers(name: str, form: Form) -> None:
    golden = load_golden(name)
    network = resampling(prepare(name), form)
    with torch.inference_mode():
        image = network.synthesis(golden.numbers["ws"], noise_mode="const")
    assert relative_error(image, golden.numbers["img_const"]) <= EXACT


@pytest.mark.parametrize("size", [1, 3, 5])
@pytest.mark.parametrize(
    "taps", [[1], [1, 1], [1, 2, 1], [1, 3, 3, 1], [1, 2, 5, 1], [1, 4, 6, 4, 1], [1, 2, 3, 3, 2, 1]]
)
@pytest.mark.parametrize("form", FORMS)
def test_every_form_equals_the_definition(form: Form, taps: list[int], size: int) -> None:
    torch.manual_seed(0)
    x, weight, f = torch.randn(2, 3, 5, 7), torch.randn(4, 3, size, size), setup_filter(taps)
    half = size // 2
    options = ConvolutionOptions(up=2, padding=Padding(half, half, half, half), flip_weight=False)
    expected = convolve_resampled(
        x, weight, f, options, resample=lambda image, taps, given: upfirdn2d_reference(image, taps, given)
    )
    assert relative_error(UpConvolution(weight, f, form)(x), expected) <= 1e-5


def test_a_box_factor_moves_from_the_filter_into_the_phases() -> None:
    layer = UpConvolution(torch.randn(4, 3, 3, 3), setup_filter([1, 3, 3, 1]), "subpixel")
    assert layer.filter is not None
    # (1, 3, 3, 1) = (1, 1) ⊛ (1, 2, 1): what is left has nine taps instead of sixteen.
    assert layer.filter.shape == (4, 1, 3, 3)
    torch.testing.assert_close(
        layer.filter[0, 0, 0] / layer.filter[0, 0, 0, 0], torch.tensor([1.0, 2.0, 1.0])
    )


def test_an_unknown_form_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="transposed, subpixel, merged"):
        resampling(prepare("stylegan2"), "fused")  # type: ignore[arg-type]


def test_a_network_without_constant_up_convolutions_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="apply static_modulation first"):
        resampling(build_small("stylegan2"), "merged")
