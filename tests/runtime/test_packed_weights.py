import pytest
import torch
from torch import Tensor, nn

from gantune.ops.styled_convolution import StyledOptions, missing, styled_convolution
from gantune.runtime.engines.packed_weights import pack_weights

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))


class TwoLayers(nn.Module):
    """A plain layer, an up-sampling one, and the plain layer's weight once more."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.plain = nn.Parameter(torch.randn(6, 6, 3, 3))
        self.phases = nn.Parameter(torch.randn(24, 6, 2, 2))

    def forward(self, x: Tensor) -> Tensor:
        x = styled_convolution(x, self.plain, StyledOptions())
        x = styled_convolution(x, self.phases, StyledOptions(smooth=[0.25, 0.5, 0.25]))
        return styled_convolution(x, self.plain, StyledOptions())


def load() -> torch.fx.GraphModule:
    with torch.no_grad():
        return torch.export.export(TwoLayers(), (torch.zeros(1, 6, 5, 7),)).module(check_guards=False)


def test_packing_changes_no_bit_of_the_result() -> None:
    module, x = load(), torch.randn(1, 6, 5, 7)
    with torch.inference_mode():
        expected = module(x)
        pack_weights(module)
        assert torch.equal(module(x), expected)


def test_no_plain_weight_is_left_and_a_shared_one_is_packed_once() -> None:
    module = load()
    assert len(list(module.parameters())) == 2
    pack_weights(module)
    assert not list(module.parameters())
    assert len([buffer for _, buffer in module.named_buffers() if buffer.ndim >= 4]) == 2


def test_a_program_without_such_layers_is_left_alone() -> None:
    with torch.no_grad():
        program = torch.export.export(nn.Conv2d(2, 3, 3), (torch.zeros(1, 2, 5, 5),))
    module = program.module(check_guards=False)
    code = module.code
    pack_weights(module)
    assert module.code == code
