"""Every instruction set, thread count, layout and shape gives the definition's numbers."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from gantune import ops
from gantune.ops.bias_act.native import KINDS
from gantune.ops.native import library
from gantune.ops.tolerance import BY_DTYPE, largest_error

if library.missing_reason() is not None:
    pytest.skip(str(library.missing_reason()), allow_module_level=True)

# filtered_lrelu in float32 against the definition in float64.
RELATIVE = 2e-6
SETS = library.instruction_sets()
LAYERS = {
    "up 2, down 2, 12 taps": (2, 12, 2, 12, [9, 10, 9, 10]),
    "up 4, down 2, 24 taps": (4, 24, 2, 12, [20, 19, 20, 19]),
    "up 2, down 4, 8 taps": (2, 8, 4, 24, [13, 14, 13, 14]),
    "up 1, down 1, no filter": (1, None, 1, None, 0),
    "up 3, down 2, odd taps": (3, 7, 2, 5, [3, 4, -1, 6]),
}


def kaiser(taps: int | None) -> Tensor | None:
    if taps is None:
        return None
    window = torch.kaiser_window(taps, periodic=False, beta=6.0)
    return window / window.sum()


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def relative_error(found: Tensor, exact: Tensor) -> float:
    return ((found.double() - exact).abs().max() / exact.abs().max()).item()


def filtered(x: Tensor, layer: str, form: str, *, clamp: float = 256.0) -> Tensor:
    up, up_taps, down, down_taps, padding = LAYERS[layer]
    dtype = torch.promote_types(x.dtype, torch.float32)
    parts = (kaiser(up_taps), kaiser(down_taps), normal(x.shape[1]))
    fu, fd, b = (part if part is None else part.to(dtype) for part in parts)
    return ops.filtered_lrelu(
        x, fu, fd, b, up=up, down=down, padding=padding, clamp=clamp, implementation=form
    )


@pytest.mark.parametrize("instruction_set", SETS)
@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("channels_last", [False, True])
def test_filtered_lrelu_is_exact_in_every_instruction_set(
    instruction_set: str, layer: str, channels_last: bool
) -> None:
    x = normal(1, 37, 21, 34)
    exact = filtered(x.double(), layer, "reference")
    if channels_last:
        x = x.contiguous(memory_format=torch.channels_last)

    with library.use_instruction_set(instruction_set):
        y = filtered(x, layer, "native")

    assert relative_error(y, exact) <= RELATIVE
    assert y.is_contiguous(memory_format=torch.channels_last) == channels_last


@pytest.mark.parametrize("instruction_set", SETS)
@pytest.mark.parametrize("channels_last", [False, True])
def test_bfloat16_is_rounded_once(instruction_set: str, channels_last: bool) -> None:
    x = normal(2, 35, 17, 19).bfloat16()
    exact = filtered(x.double(), "up 2, down 2, 12 taps", "reference")
    if channels_last:
        x = x.contiguous(memory_format=torch.channels_last)

    with library.use_instruction_set(instruction_set):
        y = filtered(x, "up 2, down 2, 12 taps", "native")

    assert y.dtype == torch.bfloat16
    half_a_step = exact.abs() * 2**-8 + exact.abs().max() * 1e-6
    assert ((y.double() - exact).abs() <= half_a_step).all()


@pytest.mark.parametrize("instruction_set", SETS)
@pytest.mark.parametrize("act", KINDS)
def test_activations_are_exact_in_every_instruction_set(instruction_set: str, act: str) -> None:
    x = torch.cat([torch.linspace(-30, 30, 4001), torch.logspace(-30, 2, 500), -torch.logspace(-30, 2, 500)])
    with library.use_instruction_set(instruction_set):
        y = ops.bias_act(x[None], act=act, gain=1, implementation="native")[0]
    exact = ops.bias_act(x[None].double(), act=act, gain=1, implementation="reference")[0]
    # Near its zero a function keeps its relative accuracy.
    assert ((y - exact).abs() <= 4e-7 * exact.abs() + 2e-38).all()


@pytest.mark.parametrize("instruction_set", SETS)
@pytest.mark.parametrize("act", KINDS)
def test_extreme_values_end_as_in_torch(instruction_set: str, act: str) -> None:
    x = torch.tensor([[math.nan, math.inf, -math.inf, 3e38, -3e38, 0.0, 1000.0, -1000.0, 88.7, -88.7]])
    with library.use_instruction_set(instruction_set):
        y = ops.bias_act(x, act=act, clamp=1e30, implementation="native")
    expected = ops.bias_act(x, act=act, clamp=1e30, implementation="reference")
    torch.testing.assert_close(y, expected, rtol=1e-6, atol=1e-37, equal_nan=True)


@pytest.mark.parametrize("instruction_set", SETS)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_filtered_lrelu_spreads_a_nan_and_clamps_an_infinity(instruction_set: str, bad: float) -> None:
    x = normal(1, 5, 20, 20)
    x[0, 2, 10, 10] = bad
    layer = "up 2, down 2, 12 taps"
    with library.use_instruction_set(instruction_set):
        y = filtered(x, layer, "native", clamp=4.0)

    # A tap of zero times infinity is NaN in the definition, which also multiplies inserted zeros.
    expected = filtered(x, layer, "portable", clamp=4.0)
    touched = ~torch.isclose(y, filtered(x.nan_to_num(0, 0, 0), layer, "native", clamp=4.0), atol=1e-5)
    if math.isnan(bad):
        assert y[0, 2, 10, 10].isnan()
        assert not y[0, [0, 1, 3, 4]].isnan().any()
        assert torch.equal(y.isnan(), expected.isnan())
    else:
        assert touched.any()
        assert y[~y.isnan()].abs().max() <= 4.0 + 1e-5


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("channels_last", [False, True])
def test_any_number_of_threads_gives_the_same_bits(layer: str, channels_last: bool) -> None:
    x = normal(2, 21, 41, 67)
    x = x.contiguous(memory_format=torch.channels_last) if channels_last else x
    x.requires_grad_()
    results = []
    before = torch.get_num_threads()
    try:
        for num_threads in (1, 2, 5):
            torch.set_num_threads(num_threads)
            y = filtered(x, layer, "native", clamp=0.5)
            (dx,) = torch.autograd.grad(y.square().sum(), x)
            results.append((y, dx))
    finally:
        torch.set_num_threads(before)
    for y, dx in results[1:]:
        assert torch.equal(y, results[0][0])
        assert torch.equal(dx, results[0][1])


@pytest.mark.parametrize("instruction_set", SETS)
@pytest.mark.parametrize("layer", LAYERS)
def test_gradients_of_every_order_are_those_of_the_definition(instruction_set: str, layer: str) -> None:
    x = normal(2, 18, 13, 12)
    exact = second_order(x.double(), layer, "reference")
    with library.use_instruction_set(instruction_set):
        found = second_order(x, layer, "native")
    for one, other in zip(found, exact, strict=True):
        assert relative_error(one, other) <= 4 * RELATIVE


def second_order(x: Tensor, layer: str, form: str) -> tuple[Tensor, Tensor]:
    x = x.clone().requires_grad_()
    y = filtered(x, layer, form, clamp=0.7)
    dy = normal(*y.shape, seed=3).to(y)
    (dx,) = torch.autograd.grad(y, x, (dy * y).detach().requires_grad_(), create_graph=True)
    dy = (dy * y).detach().requires_grad_()
    (dx,) = torch.autograd.grad(filtered(x, layer, form, clamp=0.7), x, dy, create_graph=True)
    (ddy,) = torch.autograd.grad(dx.square().sum(), dy)
    return dx, ddy


@st.composite
def strided_images(draw: st.DrawFn) -> Tensor:
    """Draw views of every kind: sliced, permuted, expanded, channels last."""
    N, C, H, W = draw(
        st.tuples(st.integers(1, 2), st.integers(1, 40), st.integers(1, 40), st.integers(1, 70))
    )
    kind = draw(
        st.sampled_from(["plain", "channels last", "sliced", "transposed", "expanded", "few channels"])
    )
    x = normal(N, C, H, W, seed=draw(st.integers(0, 99)))
    if kind == "channels last":
        return x.contiguous(memory_format=torch.channels_last)
    if kind == "sliced":
        return normal(N, C + 1, 2 * H, W + 3)[:, 1:, ::2, 1:-2]
    if kind == "transposed":
        return normal(N, C, W, H).transpose(2, 3)
    if kind == "expanded":
        return x[:, :1, :, :1].expand(N, C, H, W)
    return x[:, :3] if kind == "few channels" else x


def examine_upfirdn2d(x: Tensor, data: st.DataObject) -> None:
    taps = data.draw(st.sampled_from([1, 2, 3, 4, 6, 8, 11, 12, 24]))
    is_full = data.draw(st.booleans())
    f = normal(taps, data.draw(st.integers(1, 5)), seed=1) if is_full else normal(taps, seed=1)
    pads = [data.draw(st.integers(-2, 3)) + f.shape[-1 if i < 2 else 0] for i in range(4)]
    keywords = {
        "up": data.draw(st.lists(st.integers(1, 4), min_size=2, max_size=2)),
        "down": data.draw(st.lists(st.integers(1, 4), min_size=2, max_size=2)),
        "padding": pads,
        "flip_filter": data.draw(st.booleans()),
        "gain": 0.5,
    }
    exact = ops.upfirdn2d(x.double(), f.double(), implementation="reference", **keywords)
    y = ops.upfirdn2d(x, f, implementation="native", **keywords)
    assert largest_error(y, exact) <= BY_DTYPE[torch.float32].relative


@pytest.mark.parametrize("instruction_set", SETS)
def test_upfirdn2d_takes_any_strides_factors_and_filters(instruction_set: str) -> None:
    examine = settings(max_examples=25, deadline=None, derandomize=True, database=None)
    torch.use_deterministic_algorithms(True)  # with it, torch.empty is filled with NaN
    try:
        with library.use_instruction_set(instruction_set):
            examine(given(strided_images(), st.data())(examine_upfirdn2d))()
    finally:
        torch.use_deterministic_algorithms(False)
