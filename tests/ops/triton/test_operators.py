"""The Triton operators: what opcheck asks, layouts, both FIR kernels, derivatives of the fused epilogue."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from gantune import ops
from gantune.errors import UnsupportedError
from gantune.ops.tolerance import BY_DTYPE, EXACT, largest_error
from gantune.ops.triton import launching
from gantune.ops.triton.activation import activate, activate_curvature, activate_gradient
from gantune.ops.triton.filtered_activation import filter_activation, filter_activation_gradient
from gantune.ops.triton.resample import resample
from operation_samples import Call, derivatives

TAPS = torch.tensor([0.1, -0.2, 0.7, 0.3])
LONG = torch.linspace(-0.3, 0.5, 12)


def normal(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape))).to(dtype)


def leaf(*shape: int) -> Tensor:
    return normal(*shape).requires_grad_()


def epilogue_parts() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    return leaf(2, 3, 4, 5), leaf(2, 3), leaf(1, 1, 4, 5), leaf(3)


OPTIONS = (1, "swish", 0.0, 1.3, 0.9)
SAMPLES: dict[str, Callable[[], tuple[object, tuple[object, ...]]]] = {
    "resample": lambda: (resample, (leaf(1, 2, 5, 4), TAPS, [2, 1], [1, 2], [2, 1, 3, 0], False, 1.5)),
    "activate": lambda: (activate, (*epilogue_parts(), *OPTIONS)),
    "activate_gradient": lambda: (activate_gradient, (leaf(2, 3, 4, 5), *epilogue_parts(), *OPTIONS)),
    "activate_curvature": lambda: (
        activate_curvature,
        (normal(2, 3, 4, 5), normal(2, 3, 4, 5), *(part.detach() for part in epilogue_parts()), *OPTIONS),
    ),
    "filter_activation": lambda: (
        filter_activation,
        (leaf(1, 2, 5, 4), None, TAPS, TAPS, leaf(2), 2, 2, [3, 3, 3, 3], 1.4, 0.2, 0.7, False),
    ),
    "filter_activation along a tangent": lambda: (
        filter_activation,
        (normal(1, 2, 5, 4), leaf(1, 2, 5, 4), TAPS, TAPS, None, 2, 2, [3] * 4, 1.4, 0.2, 0.7, False),
    ),
    "filter_activation_gradient": lambda: (
        filter_activation_gradient,
        (leaf(1, 2, 5, 4), normal(1, 2, 5, 4), TAPS, TAPS, normal(2), 2, 2, [3] * 4, 1.4, 0.2, 0.7, True),
    ),
}


@pytest.mark.slow
@pytest.mark.ci
@pytest.mark.parametrize("name", SAMPLES)
def test_an_operator_is_registered_as_compilers_and_autograd_expect(name: str) -> None:
    operator, arguments = SAMPLES[name]()
    torch.library.opcheck(operator, arguments)


@pytest.mark.parametrize("form", ["reference", "triton"])
@pytest.mark.parametrize("operation", ["upfirdn2d", "bias_act", "filtered_lrelu"])
def test_channels_last_stays_channels_last(operation: str, form: str) -> None:
    x = normal(2, 5, 6, 7).contiguous(memory_format=torch.channels_last)
    tensors = {
        "upfirdn2d": {"x": x, "f": LONG},
        "bias_act": {"x": x, "b": normal(5)},
        "filtered_lrelu": {"x": x, "fu": LONG, "fd": TAPS, "b": normal(5)},
    }[operation]
    keywords = {"upfirdn2d": {"up": 2, "padding": 6}, "filtered_lrelu": {"up": 2, "down": 2, "padding": 9}}
    call = Call(operation, tensors, dict(keywords.get(operation, {"act": "lrelu"})))

    y = call.run(form)

    assert largest_error(y, call.double().run("reference")) <= BY_DTYPE[torch.float32].relative
    if form == "triton":
        assert y.is_contiguous(memory_format=torch.channels_last)
        assert not y.is_contiguous()


RESAMPLINGS = [
    {"up": 2, "padding": [6, 5, 6, 5], "gain": 4},
    {"down": 2, "padding": 5},
    {"up": [1, 3], "down": [2, 1], "padding": [6, -2, 9, 3], "flip_filter": True},
    {"padding": [30, -3, 5, 7]},
]


@pytest.mark.parametrize("keywords", RESAMPLINGS, ids=str)
@pytest.mark.parametrize("size", [(7, 9), (40, 21)])
def test_long_filters_run_as_band_products(
    keywords: dict[str, object], size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[str] = []

    def load(module: str, name: str) -> object:
        loaded.append(name)
        return launching.load_kernel(module, name)

    monkeypatch.setattr("gantune.ops.triton.resample.load_kernel", load)
    call = Call("upfirdn2d", {"x": normal(2, 3, *size), "f": LONG}, keywords)

    y = call.run("triton")

    assert loaded == ["band_kernel"]
    assert largest_error(y, call.double().run("reference")) <= BY_DTYPE[torch.float32].relative


def test_a_large_two_dimensional_filter_is_not_unrolled_and_still_right() -> None:
    call = Call("upfirdn2d", {"x": normal(1, 2, 9, 8), "f": normal(10, 7)}, {"up": 2, "padding": 8})
    assert largest_error(call.run("triton"), call.double().run("reference")) <= 1e-5


def test_filters_of_two_dimensions_are_summed_row_by_row_in_filtered_lrelu() -> None:
    call = Call(
        "filtered_lrelu",
        {"x": normal(1, 3, 11, 9), "fu": normal(3, 5), "fd": normal(6, 4), "b": normal(3)},
        {"up": 2, "down": 2, "padding": 8, "clamp": 1.0},
    )
    assert largest_error(call.run("triton"), call.double().run("reference")) <= 1e-5


def test_the_epilogue_is_its_definition_and_so_are_its_derivatives() -> None:
    parts = [part.detach().double().requires_grad_() for part in epilogue_parts()]
    x, scale, noise, b = parts
    dy = normal(2, 3, 4, 5, dtype=torch.float64)

    def define() -> Tensor:
        z = x * scale[:, :, None, None] + noise + b[:, None, None]
        return (z * torch.sigmoid(z) * 1.3).clamp(-0.9, 0.9)

    expected, found = define(), activate(x, scale, noise, b, *OPTIONS)
    assert largest_error(found, expected) <= 1e-12
    for mine, theirs in zip(derivatives(found, dy, parts), derivatives(expected, dy, parts), strict=True):
        for gradient, wanted in zip(mine, theirs, strict=True):
            assert largest_error(gradient, wanted) <= 1e-12


def test_a_batch_of_noise_planes_and_channels_last_give_the_same() -> None:
    x, scale, _, b = (part.detach() for part in epilogue_parts())
    noise = normal(2, 1, 4, 5)
    expected = torch.nn.functional.leaky_relu(x * scale[:, :, None, None] + noise + b[:, None, None], 0.1)
    for layout in (torch.contiguous_format, torch.channels_last):
        found = activate(x.contiguous(memory_format=layout), scale, noise, b, 1, "lrelu", 0.1, 1.0, None)
        assert largest_error(found, expected) <= EXACT.relative


def test_a_bias_along_another_dimension_of_channels_last_memory() -> None:
    x = normal(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    for dim in (0, 2, 3):
        call = Call("bias_act", {"x": x, "b": normal(x.shape[dim])}, {"dim": dim, "act": "elu"})
        assert largest_error(call.run("triton"), call.run("reference")) <= 1e-6


def test_infinities_and_nan_pass_through() -> None:
    x = torch.tensor([float("nan"), float("inf"), -float("inf"), 50.0, -50.0])
    for act in ("linear", "relu", "lrelu", "tanh", "sigmoid", "elu", "selu", "softplus"):
        call = Call("bias_act", {"x": x}, {"act": act})
        torch.testing.assert_close(call.run("triton"), call.run("reference"), equal_nan=True)


def test_a_third_derivative_that_does_not_exist_is_refused_in_words() -> None:
    x = leaf(6)
    y = ops.bias_act(x, act="swish", dim=0, implementation="triton")
    [first] = torch.autograd.grad(y.sum(), x, create_graph=True)
    [second] = torch.autograd.grad(first.sum(), x, create_graph=True)
    with pytest.raises(UnsupportedError, match="no third derivative of swish"):
        torch.autograd.grad(second.sum(), x)


def test_a_filter_that_wants_a_gradient_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="no gradient for a filter"):
        ops.upfirdn2d(normal(1, 1, 4, 4), TAPS.clone().requires_grad_(), implementation="triton")


def test_integers_are_refused_and_empty_batches_are_not() -> None:
    with pytest.raises(UnsupportedError, match=r"no torch.int64"):
        ops.bias_act(torch.zeros(2, 3, dtype=torch.int64), implementation="triton")
    empty = torch.zeros(0, 2, 5, 5)
    assert ops.upfirdn2d(empty, TAPS, up=2, padding=2, implementation="triton").shape == (0, 2, 11, 11)
    assert ops.bias_act(empty, torch.zeros(2), implementation="triton").shape == empty.shape
