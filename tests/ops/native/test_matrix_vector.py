from collections.abc import Iterator

import pytest
import torch
import torch.nn.functional as F

from gantune.ops.native import matrix_vector
from gantune.ops.native.library import instruction_sets, missing_reason, use_instruction_set

pytestmark = pytest.mark.skipif(missing_reason() is not None, reason=str(missing_reason()))


@pytest.fixture(autouse=True, params=instruction_sets())
def instruction_set(request: pytest.FixtureRequest) -> Iterator[None]:
    with use_instruction_set(request.param):
        yield


@pytest.mark.parametrize(
    "shape", [(1, 512, 512), (2, 64, 24), (1, 33, 8), (1, 7, 5), (5, 16, 16), (1, 1, 64)]
)
@pytest.mark.parametrize("has_bias", [False, True])
def test_it_is_a_fully_connected_layer(shape: tuple[int, int, int], has_bias: bool) -> None:
    torch.manual_seed(0)
    N, C, K = shape
    x, weight, bias = torch.randn(N, C), torch.randn(K, C), torch.randn(K) if has_bias else None
    expected = F.linear(x.double(), weight.double(), None if bias is None else bias.double())
    found = torch.ops.gantune.matrix_vector(x, weight, bias)
    torch.testing.assert_close(found.double(), expected, atol=2e-5 * C**0.5, rtol=0)


def test_vectors_and_matrices_may_be_parts_of_larger_ones() -> None:
    x, weight = torch.randn(2, 64)[:, ::2], torch.randn(32, 16).t()
    expected = F.linear(x.contiguous(), weight.contiguous())
    torch.testing.assert_close(torch.ops.gantune.matrix_vector(x, weight, None), expected)


def test_many_vectors_are_left_to_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the native kernel ran")

    monkeypatch.setattr(matrix_vector, "run_projection", refuse)
    x, weight = torch.randn(matrix_vector.MOST_VECTORS + 1, 16), torch.randn(16, 16)
    assert torch.equal(torch.ops.gantune.matrix_vector(x, weight, None), F.linear(x, weight))
    with pytest.raises(AssertionError, match="the native kernel ran"):
        torch.ops.gantune.matrix_vector(x[:1], weight, None)
