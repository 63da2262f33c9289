"""bias_act: what it refuses, and that it overwrites nothing a caller can see."""

import math

import pytest
import torch

from gantune.errors import UsageError
from gantune.ops import bias_act


def test_its_defaults_are_those_of_the_field() -> None:
    x = torch.tensor([[-1.0, 2.0]])
    assert torch.allclose(bias_act(x, act="lrelu"), torch.tensor([[-0.2, 2.0]]) * math.sqrt(2))
    assert torch.allclose(bias_act(x, act="relu"), torch.tensor([[0.0, 2.0]]) * math.sqrt(2))
    assert torch.equal(bias_act(x), x)


@pytest.mark.parametrize("implementation", ["reference", "portable"])
@pytest.mark.parametrize("act", ["linear", "relu", "lrelu", "tanh"])
@pytest.mark.parametrize("gain", [1.0, 2.0])
def test_it_leaves_its_input_alone(implementation: str, act: str, gain: float) -> None:
    x = torch.randn(2, 3, 4, 5)
    before = x.clone()
    bias_act(x, act=act, gain=gain, clamp=0.1, implementation=implementation)
    assert torch.equal(x, before)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"act": "gelu"}, "unknown activation 'gelu'; allowed: linear, relu"),
        ({"b": torch.zeros(4)}, r"b has shape \[3\] for this x and dim 1, found \[4\]"),
        ({"b": torch.zeros(1, 3)}, "b has shape"),
        ({"b": torch.zeros(3), "dim": 4}, "dim is between 0 and 3"),
        ({"clamp": float("nan")}, "clamp is a number of at least 0"),
    ],
)
def test_wrong_options_are_refused(keywords: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        bias_act(torch.zeros(2, 3, 4, 5), **keywords)  # type: ignore[arg-type]
