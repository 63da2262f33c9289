from collections.abc import Iterator

import pytest
import torch

from gantune.ops.native.library import instruction_sets, use_instruction_set
from gantune.ops.styled_convolution import missing, project_pixels, project_pixels_reference

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))


@pytest.fixture(autouse=True, params=instruction_sets())
def instruction_set(request: pytest.FixtureRequest) -> Iterator[None]:
    with use_instruction_set(request.param):
        yield


@pytest.mark.parametrize("clamp", [None, 1.5])
@pytest.mark.parametrize("shape", [(2, 64, 3, 5, 16), (1, 91, 1, 7, 33), (3, 5, 4, 1, 1), (1, 32, 3, 16, 7)])
def test_projection_equals_the_definition(shape: tuple[int, ...], clamp: float | None) -> None:
    torch.manual_seed(0)
    n, c, o, h, w = shape
    x, weight, bias = torch.randn(n, c, h, w), torch.randn(n, o, c), torch.randn(o)
    expected = project_pixels_reference(x.double(), weight.double(), bias.double(), clamp)
    for given in (x, x.contiguous(memory_format=torch.channels_last)):
        found = project_pixels(given, weight, bias, clamp)
        assert found.is_contiguous()
        torch.testing.assert_close(found.double(), expected, atol=2e-5, rtol=0)


def test_the_operator_satisfies_torch() -> None:
    arguments = (torch.randn(2, 8, 6, 6), torch.randn(2, 3, 8), torch.randn(3), None)
    torch.library.opcheck(torch.ops.gantune.project_pixels.default, arguments, test_utils="test_faketensor")
