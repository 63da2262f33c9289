"""The choosing place: what runs, what is refused, and what is told about it."""

import logging
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from gantune.errors import UnavailableError, UnsupportedError, UsageError
from gantune.ops import choose
from gantune.ops.choose import Fallback, Form, Operation, never_refuses, use_implementation

X = torch.zeros(1)
REFERENCE: Form[[]] = Form("reference", lambda x: x + 1, None, never_refuses)
PORTABLE: Form[[]] = Form("portable", lambda x: x + 2, None, never_refuses)
NATIVE: Form[[]] = Form("native", lambda x: x + 3, None, never_refuses, devices=("cpu",))
TRITON: Form[[]] = Form("triton", lambda x: x + 4, None, never_refuses, devices=("cuda",))


def operation(native: Form[[]] = NATIVE) -> Operation[[]]:
    return Operation("add", (TRITON, native, PORTABLE, REFERENCE))


def chosen(subject: Operation[[]], implementation: str | None = None) -> int:
    return int(subject.run(implementation, X).item())


@pytest.fixture(autouse=True)
def _forgotten_fallbacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose, "_fallbacks", {})
    monkeypatch.setattr(choose, "_logged_reasons", set())


def test_the_automatic_choice_is_the_first_form_for_the_device() -> None:
    assert chosen(operation()) == 3
    assert choose.fallbacks() == ()


def test_a_missing_form_is_replaced_told_once_and_recorded(caplog: pytest.LogCaptureFixture) -> None:
    subject = operation(replace(NATIVE, missing="no library was built"))
    with caplog.at_level(logging.WARNING):
        assert [chosen(subject) for _ in range(3)] == [2, 2, 2]
    assert choose.fallbacks() == (Fallback("add", "native", "portable", "no library was built"),)
    assert [record.getMessage() for record in caplog.records] == [
        "add: the portable form runs instead of native: no library was built"
    ]


def test_a_refused_call_goes_to_the_next_form_and_is_recorded() -> None:
    subject = operation(replace(NATIVE, refusal=lambda x: f"{x.dtype} is not supported"))
    assert chosen(subject) == 2
    assert [fallback.reason for fallback in choose.fallbacks()] == ["torch.float32 is not supported"]


@pytest.mark.parametrize(
    ("name", "result"), [("reference", 1), ("portable", 2), ("native", 3), ("triton", 4)]
)
def test_a_named_form_runs(name: str, result: int) -> None:
    assert chosen(operation(), name) == result
    with use_implementation(name):
        assert chosen(operation()) == result


def test_a_named_form_that_is_missing_raises() -> None:
    subject = operation(replace(NATIVE, missing="no library was built"))
    with pytest.raises(UnavailableError, match="native form of add is not available: no library was built"):
        chosen(subject, "native")
    with use_implementation("native"), pytest.raises(UnavailableError):
        chosen(subject)


def test_a_named_form_that_refuses_raises() -> None:
    subject = operation(replace(NATIVE, refusal=lambda _: "x is too odd"))
    with pytest.raises(UnsupportedError, match="x is too odd"):
        chosen(subject, "native")


def test_a_form_the_operation_lacks_raises_where_named_and_not_in_a_block() -> None:
    subject = Operation("add", (PORTABLE, REFERENCE))
    with pytest.raises(UnavailableError, match="it has: portable, reference"):
        chosen(subject, "native")
    with use_implementation("native"):
        assert chosen(subject) == 2


@pytest.mark.parametrize("name", ["fast", "", "Native"])
def test_an_unknown_name_is_a_usage_error(name: str) -> None:
    with pytest.raises(UsageError, match="allowed: reference, portable, native, triton"):
        chosen(operation(), name)
    with pytest.raises(UsageError), use_implementation(name):
        pass


def test_blocks_nest_and_end_even_by_an_error() -> None:
    with use_implementation("reference"):
        with use_implementation("portable"):
            assert chosen(operation()) == 2
        with pytest.raises(ZeroDivisionError), use_implementation("portable"):
            raise ZeroDivisionError
        assert chosen(operation()) == 1
        with use_implementation("auto"):
            assert chosen(operation()) == 3
    assert chosen(operation()) == 3


@pytest.mark.slow
def test_exporting_takes_the_portable_form_unless_another_is_named() -> None:
    subject = operation()

    class Network(torch.nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return subject.run(None, x)

    def export() -> float:
        return torch.export.export(Network(), (X,)).module()(X).item()

    assert export() == 2
    with use_implementation("reference"):
        assert export() == 1


@pytest.mark.slow
def test_a_compiled_function_follows_the_choice() -> None:
    subject = operation()
    compiled = torch.compile(lambda x: subject.run(None, x), fullgraph=True, backend="eager")
    assert compiled(X).item() == 3
    with use_implementation("reference"):
        assert compiled(X).item() == 1
    assert compiled(X).item() == 3


def test_a_block_collects_what_the_process_has_met_before() -> None:
    subject = operation(replace(NATIVE, missing="no library was built"))
    chosen(subject)
    with choose.collect_fallbacks():
        assert choose.fallbacks() == ()
        chosen(subject)
        inside = choose.fallbacks()
    assert inside == choose.fallbacks() == (Fallback("add", "native", "portable", "no library was built"),)
