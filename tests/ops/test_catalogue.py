"""Every form of every operation computes what the authors' code computed, and what the reference computes."""

import pytest
import torch
from torch import Tensor

from gantune.ops.catalogue import OPERATIONS, form_statuses
from gantune.ops.tolerance import BY_DTYPE, EXACT, largest_error
from operation_samples import (
    FAST_FORMS,
    FORMS,
    Call,
    derivatives,
    golden_names,
    load_golden,
    official_calls,
    skip_where_missing,
    small_call,
)

GOLDEN_RUNS = [
    (name, form) for name in golden_names() for operation, form in FORMS if name.startswith(operation + "/")
]


@pytest.mark.parametrize(("name", "form"), GOLDEN_RUNS)
def test_a_form_matches_the_golden_forward_first_and_second_derivatives(name: str, form: str) -> None:
    call, stored = load_golden(name)
    skip_where_missing(call.operation, form)
    leaves = call.require_gradients()
    names = [key for key, tensor in call.tensors.items() if tensor.requires_grad]

    y = call.run(form)
    first, second = derivatives(y, stored["dy"], leaves)

    assert largest_error(y, stored["y"]) <= EXACT.relative
    for key, gradient in zip(names, first, strict=True):
        assert largest_error(gradient, stored[f"d{key}"]) <= EXACT.relative, f"d{key}"
    for key, leaf, gradient in zip(names, leaves, second, strict=True):
        # Where the derivative does not exist in the golden data it may be zero.
        expected = stored.get(f"dd{key}", torch.zeros_like(leaf))
        found = torch.zeros_like(leaf) if gradient is None else gradient
        assert largest_error(found, expected) <= EXACT.relative, f"dd{key}"


def test_the_golden_file_holds_all_its_cases() -> None:
    assert len(golden_names()) == 35


@pytest.mark.parametrize(("operation", "form"), FAST_FORMS)
def test_a_form_never_reads_uninitialised_memory(operation: str, form: str) -> None:
    skip_where_missing(operation, form)
    call = small_call(operation)
    leaves = call.require_gradients()
    expected = call.run("reference")
    dy = torch.ones_like(expected)
    expected_first, expected_second = derivatives(expected, dy, leaves)

    torch.use_deterministic_algorithms(True)  # with it, torch.empty is filled with NaN
    try:
        assert torch.empty(3).isnan().all()
        y = call.run(form)
        first, second = derivatives(y, dy, leaves)
    finally:
        torch.use_deterministic_algorithms(False)

    assert largest_error(y, expected) <= EXACT.relative
    for found, reference in zip([*first, *second], [*expected_first, *expected_second], strict=True):
        assert_same_derivative(found, reference)


def assert_same_derivative(found: Tensor | None, expected: Tensor | None) -> None:
    if found is None or expected is None:
        either = found if expected is None else expected
        assert either is None or not either.any()
    else:
        assert largest_error(found, expected) <= EXACT.relative


@pytest.mark.parametrize(("operation", "form"), FORMS)
@pytest.mark.parametrize("dtype", BY_DTYPE, ids=str)
def test_a_form_keeps_the_dtype_and_its_bound(operation: str, form: str, dtype: torch.dtype) -> None:
    skip_where_missing(operation, form)
    call = small_call(operation).map(lambda tensor: tensor.to(dtype))

    y = call.run_or_skip(form)

    assert y.dtype == dtype
    assert largest_error(y, call.double().run("reference")) <= BY_DTYPE[dtype].relative


@pytest.mark.parametrize("layer", official_calls())
@pytest.mark.parametrize("form", sorted({form for _, form in FAST_FORMS}))
def test_a_form_equals_the_reference_on_a_layer_of_official_size(layer: str, form: str) -> None:
    call = official_calls()[layer]
    if (call.operation, form) not in FORMS:
        pytest.skip(f"{call.operation} has no {form} form")
    skip_where_missing(call.operation, form)
    expected = call.double().run("reference")

    assert largest_error(call.run(form), expected) <= BY_DTYPE[torch.float32].relative
    in_double = call.double().run_or_skip(form)
    assert largest_error(in_double, expected) <= BY_DTYPE[torch.float64].relative


@pytest.mark.parametrize(("operation", "form"), FORMS)
def test_a_form_has_right_first_and_second_derivatives_in_float64(operation: str, form: str) -> None:
    skip_where_missing(operation, form)
    call = small_call(operation).double()
    call.run_or_skip(form)
    leaves = call.require_gradients()
    names = [name for name, tensor in call.tensors.items() if tensor.requires_grad]

    def run(*tensors: Tensor) -> Tensor:
        changed = {**call.tensors, **dict(zip(names, tensors, strict=True))}
        return Call(operation, changed, call.keywords).run(form)

    # Triton's interpreter is slow: there each derivative is checked along random directions only.
    is_slow = form == "triton"
    assert torch.autograd.gradcheck(run, leaves, fast_mode=is_slow)
    assert torch.autograd.gradgradcheck(run, leaves, fast_mode=is_slow)


def transposed(x: Tensor) -> Tensor:
    return x.transpose(2, 3).contiguous().transpose(2, 3)


def sliced(x: Tensor) -> Tensor:
    wide = torch.full((x.shape[0], x.shape[1] + 2, x.shape[2] * 2, x.shape[3] + 3), float("nan"))
    wide[:, 1:-1, ::2, 1:-2] = x
    return wide[:, 1:-1, ::2, 1:-2]


def channels_last(x: Tensor) -> Tensor:
    return x.contiguous(memory_format=torch.channels_last)


def expanded(x: Tensor) -> Tensor:
    return x[:1].expand_as(x)


@pytest.mark.parametrize(("operation", "form"), FORMS)
@pytest.mark.parametrize("view", [transposed, sliced, channels_last, expanded])
def test_a_form_takes_strided_inputs(operation: str, form: str, view: object) -> None:
    assert callable(view)
    skip_where_missing(operation, form)
    call = small_call(operation)
    call.tensors["x"] = view(call.tensors["x"])
    before = call.tensors["x"].clone()

    y = call.run(form)

    assert largest_error(y, call.double().run("reference")) <= BY_DTYPE[torch.float32].relative
    assert torch.equal(call.tensors["x"], before), "the input was overwritten"


@pytest.mark.slow
@pytest.mark.parametrize("operation", [operation.name for operation in OPERATIONS])
def test_compiling_an_operation_breaks_no_graph(operation: str) -> None:
    call = small_call(operation)

    def run(**tensors: Tensor) -> Tensor:
        return Call(operation, tensors, call.keywords).run("portable")

    compiled = torch.compile(run, fullgraph=True, backend="aot_eager")
    assert largest_error(compiled(**call.tensors), run(**call.tensors)) <= BY_DTYPE[torch.float32].relative


def test_doctor_hears_of_every_form() -> None:
    told = [(status.operation, status.form) for status in form_statuses()]
    assert told == [*FORMS, ("styled_convolution", "native")]
    assert all(
        status.missing is None for status in form_statuses() if status.form in {"reference", "portable"}
    )
