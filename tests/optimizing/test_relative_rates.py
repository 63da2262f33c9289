import pytest
import torch
from torch import nn

from gantune.optimizing.relative_rates import make_optimizer, set_rate
from gantune.training.options import Recipe


class Two(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.large = nn.Parameter(torch.tensor([3.0, -3.0]))
        self.small = nn.Parameter(torch.tensor([0.1]))
        self.nothing = nn.Parameter(torch.zeros(1))
        self.mapping = nn.Linear(1, 1)


def test_each_tensor_moves_by_its_own_size() -> None:
    network = Two()
    before = {name: parameter.detach().clone() for name, parameter in network.named_parameters()}
    optimizer = make_optimizer(network, 0.01, Recipe(), fixed=("mapping.",))
    set_rate(optimizer, 0.5)
    for parameter in network.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    # Adam's first step is the rate itself: half of 0.01 times the root mean square, at least of 0.01.
    moved = {name: before[name] - parameter.detach() for name, parameter in network.named_parameters()}
    assert moved["large"].tolist() == pytest.approx([0.015, 0.015], rel=1e-4)
    assert moved["small"].tolist() == pytest.approx([0.0005], rel=1e-4)
    assert moved["nothing"].tolist() == pytest.approx([0.00005], rel=1e-4)
    assert not moved["mapping.weight"].any()
