import pytest
import torch
import torch.nn.functional as F

from gantune.training.precision import use_precision

X = torch.randn(2, 8, 6, 6, generator=torch.Generator().manual_seed(0))
WEIGHT = torch.randn(8, 8, 3, 3, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("convolve", [F.conv2d, F.conv_transpose2d])
def test_dense_convolutions_run_in_bfloat16_and_give_float32(convolve):
    with use_precision("bf16"):
        found = convolve(X, WEIGHT, padding=1)
    assert found.dtype == torch.float32
    assert torch.equal(found, convolve(X.bfloat16(), WEIGHT.bfloat16(), padding=1).float())
    assert not torch.equal(found, convolve(X, WEIGHT, padding=1))


@pytest.mark.parametrize(("precision", "dtype"), [("bf16", torch.bfloat16), ("fp16", torch.float16)])
@pytest.mark.parametrize("by_name", [False, True])
def test_a_bias_is_added_in_float32(by_name, precision, dtype):
    bias = torch.linspace(-1, 1, 8)
    with use_precision(precision):
        found = F.conv2d(X, WEIGHT, bias=bias) if by_name else F.conv2d(X, WEIGHT, bias)
    expected = F.conv2d(X.to(dtype), WEIGHT.to(dtype)).float() + bias[:, None, None]
    assert torch.equal(found, expected)


@pytest.mark.parametrize(
    "compute",
    [
        lambda: F.conv2d(X, WEIGHT[:, :1], groups=8),
        lambda: F.conv_transpose2d(X, WEIGHT[:, :1], groups=8),
        lambda: F.conv_transpose2d(X, WEIGHT[:, :1], None, 1, 0, 0, 8),
        lambda: F.conv2d(X, WEIGHT[:3, :, :1, :1]),
        lambda: F.conv2d(X[:, :3], WEIGHT[:, :3]),
        lambda: F.linear(X[:, 0, 0], WEIGHT[0, 0, 0].repeat(5, 2)),
        lambda: F.conv2d(X.double(), WEIGHT.double()),
    ],
    ids=["filter", "up filter", "up filter by position", "toRGB", "fromRGB", "linear", "float64"],
)
def test_everything_else_stays_as_it_is(compute):
    expected = compute()
    with use_precision("bf16"):
        assert torch.equal(compute(), expected)


def test_gradients_come_back_in_float32():
    x, weight = X.clone().requires_grad_(), WEIGHT.clone().requires_grad_()
    with use_precision("bf16"):
        F.conv2d(x, weight).sum().backward()
    assert x.grad.dtype == weight.grad.dtype == torch.float32


def test_float32_is_the_plain_convolution_and_the_block_ends():
    with use_precision("bf16"), use_precision("fp32"):
        pass
    assert torch.equal(F.conv2d(X, WEIGHT), F.conv2d(X, WEIGHT, None))
