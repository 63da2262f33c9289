import torch

from gantune.networks.spectral_norm import SpectralConv2d, SpectralLinear, normalize_spectrally


def test_the_singular_vector_as_start_gives_the_exact_largest_singular_value() -> None:
    weight = torch.randn(6, 4, 3, 3, generator=torch.Generator().manual_seed(0))
    left, values, _ = torch.linalg.svd(weight.flatten(1))
    normalized = normalize_spectrally(weight, left[:, :1].T)
    torch.testing.assert_close(normalized, weight / values[0], rtol=1e-5, atol=1e-6)


def test_one_power_iteration_is_taken_from_u0() -> None:
    # By hand: W = diag(2, 1), u0 = (1, 1): v = (2, 1)/√5, v·Wᵀ = (4, 1)/√5, σ = |(4, 1)/√5| = √(17/5).
    weight = torch.tensor([[2.0, 0.0], [0.0, 1.0]])
    normalized = normalize_spectrally(weight, torch.tensor([[1.0, 1.0]]))
    torch.testing.assert_close(normalized, weight / (17 / 5) ** 0.5)


def test_layers_multiply_with_the_normalized_weight_and_leave_the_bias() -> None:
    linear, convolution = SpectralLinear(5, 7).eval(), SpectralConv2d(5, 7, 3, padding=1).eval()
    x = torch.randn(2, 5, 4, 4)
    with torch.no_grad():
        expected = x[:, :, 0, 0] @ linear.normalized_weight().T + linear.bias
        torch.testing.assert_close(linear(x[:, :, 0, 0]), expected)
        point = (torch.nn.functional.pad(x, (1, 1, 1, 1))[:, None, :, :3, :3]).mul(
            convolution.normalized_weight()
        )
        torch.testing.assert_close(
            convolution(x)[:, :, 0, 0], point.sum((2, 3, 4)) + convolution.bias, rtol=1e-4, atol=1e-5
        )


def test_sv0_does_not_change_the_result() -> None:
    linear = SpectralLinear(3, 4).eval()
    before = linear.normalized_weight()
    linear.sv0.fill_(100.0)
    assert torch.equal(before, linear.normalized_weight())


def test_training_moves_u0_until_the_estimate_is_the_largest_singular_value() -> None:
    layer = SpectralLinear(6, 5)
    largest = torch.linalg.svdvals(layer.weight)[0]
    for _ in range(60):
        layer.normalized_weight()
    torch.testing.assert_close(layer.sv0[0], largest, rtol=1e-4, atol=0)
    torch.testing.assert_close(layer.normalized_weight(), layer.weight / largest, rtol=1e-4, atol=1e-6)


def test_a_gradient_in_training_survives_the_next_power_step() -> None:
    layer = SpectralLinear(4, 3)
    first = layer(torch.ones(2, 4))
    layer(torch.ones(2, 4))
    first.sum().backward()
    # By equation 12 of arXiv 1802.05957: the gradient has no part along the weight itself.
    assert (layer.weight.grad * layer.weight.detach()).sum().abs() < 1e-5
