import pytest
import torch
from torch import Tensor, nn

from gantune.transforms.quantize.operator import quantize_dequantize
from gantune.transforms.quantize.quantized_layer import FakeQuantize
from gantune.transforms.quantize.scheme import Grid

# Integers 0 to 15 with zero point 5 and step 0.5: the range is [-2.5, 5].
X = (-9.0, -2.6, -2.5, 0.1, 0.7, 5.0, 5.1, 20.0)
ROUNDED = (-2.5, -2.5, -2.5, 0.0, 0.5, 5.0, 5.0, 5.0)
PASSES = (0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0)
# Below the range l − z = −5, above it h − z = 10; inside round(x/s) − x/s: 0.1/0.5 = 0.2, 0.7/0.5 = 1.4.
STEP_SLOPES = (-5.0, -5.0, 0.0, -0.2, -0.4, 0.0, 10.0, 10.0)


def scalar(value: float) -> Tensor:
    return torch.tensor(value, dtype=torch.float64)


def test_the_gradients_are_those_calculated_by_hand() -> None:
    x = torch.tensor(X, dtype=torch.float64, requires_grad=True)
    scale = scalar(0.5).requires_grad_()
    weights = torch.arange(1.0, 9.0, dtype=torch.float64)
    y = quantize_dequantize(x, scale, scalar(5.0), -1, 0, 15)
    torch.testing.assert_close(y.detach(), torch.tensor(ROUNDED, dtype=torch.float64))
    (y * weights).sum().backward()
    assert x.grad is not None
    assert scale.grad is not None
    torch.testing.assert_close(x.grad, torch.tensor(PASSES, dtype=torch.float64) * weights)
    slopes = torch.tensor(STEP_SLOPES, dtype=torch.float64)
    torch.testing.assert_close(scale.grad, (slopes * weights).sum())


def test_a_channels_step_learns_from_its_channel_alone() -> None:
    x = torch.tensor([[0.1, 9.0], [0.7, -9.0]], dtype=torch.float64)
    scale = torch.tensor([0.5, 0.25], dtype=torch.float64, requires_grad=True)
    zero = torch.zeros(2, dtype=torch.float64)
    quantize_dequantize(x, scale, zero, 0, -7, 7).sum().backward()
    assert scale.grad is not None
    # Row 0: 0.1/0.5 rounds by −0.2, 9 is clipped to 7; row 1: 0.7/0.25 = 2.8 rounds by 0.2, −9 to −7.
    torch.testing.assert_close(scale.grad, torch.tensor([-0.2 + 7, 0.2 - 7], dtype=torch.float64))


def test_the_gradients_are_those_of_rounding_that_stands_still() -> None:
    """With the rounding error held, the operator is smooth, and finite differences see its gradients."""
    torch.manual_seed(0)
    x = (torch.randn(4, 6, dtype=torch.float64) * 3).requires_grad_()
    scale = (torch.rand(4, 1, dtype=torch.float64) + 0.2).requires_grad_()
    steps = (x / scale).detach()
    assert (steps.abs() - 7).abs().min() > 1e-3

    def hold_rounding(x: Tensor, scale: Tensor) -> Tensor:
        inside = x + scale * (torch.round(steps) - steps)
        return torch.where(steps > 7, 7 * scale, torch.where(steps < -7, -7 * scale, inside))

    assert torch.autograd.gradcheck(hold_rounding, (x, scale))
    weights = torch.randn(4, 6, dtype=torch.float64)
    wanted = torch.autograd.grad((hold_rounding(x, scale) * weights).sum(), (x, scale))
    flat, zero = scale.detach().flatten().requires_grad_(), torch.zeros(4, dtype=torch.float64)
    found = torch.autograd.grad((quantize_dequantize(x, flat, zero, 0, -7, 7) * weights).sum(), (x, flat))
    torch.testing.assert_close(found[0], wanted[0])
    torch.testing.assert_close(found[1], wanted[1].flatten())


def test_the_gradient_can_be_differentiated_again() -> None:
    x = torch.tensor([0.1, 3.0], requires_grad=True)
    factor = torch.tensor(2.0, requires_grad=True)
    y = quantize_dequantize(x, torch.tensor(0.5), torch.tensor(0.0), -1, -3, 3) * factor
    (slope,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert slope.tolist() == [2.0, 0.0]
    slope.sum().backward()
    assert factor.grad is not None
    assert float(factor.grad) == 1.0


def test_a_learning_step_divides_its_gradient_and_stays_positive() -> None:
    grid = Grid(torch.tensor(0.5), torch.tensor(0.0), -7, 7)
    layer = FakeQuantize(grid, num_bits=4)
    x = torch.tensor([[0.1, 9.0]])
    before = layer(x)
    layer.learn_step()
    assert [name for name, _ in layer.named_parameters()] == ["scale"]
    layer(x).sum().backward()
    # Two values of one sample share the step: the gradient −0.2 + 7 is divided by √(2·7).
    assert float(layer.scale.grad) == pytest.approx((7 - 0.2) / 14**0.5)
    assert isinstance(layer.scale, nn.Parameter)
    layer.scale.data.fill_(-1.0)
    layer.fix_step()
    assert not list(layer.parameters())
    assert float(layer.scale) == pytest.approx(0.005)
    layer.scale.fill_(0.5)
    assert torch.equal(layer(x), before)
