"""The one place that decides which form of an operation runs.

An operation has up to four forms, all the same function: `reference` (the definition), `portable`
(fast torch, the form that is exported), `native` (C++ on the CPU) and `triton` (GPU).

A form joins in two steps:

1. `ops/<op>/<form>.py` defines `FORM = Form(name=..., run=..., missing=..., refusal=..., devices=...)`;
2. `ops/<op>/__init__.py` imports it and lists it, one line, in the operation's `forms=(...)` tuple.

The order of that tuple is the order of preference of the automatic choice: the first form that is meant
for the tensor's device, is not missing and does not refuse the call. The tests of `tests/ops` run over
these tuples, so a listed form is tested by being listed.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Concatenate, Generic, Literal, ParamSpec

import torch
from torch import Tensor

from gantune.errors import UnavailableError, UnsupportedError, UsageError

P = ParamSpec("P")
FormName = Literal["reference", "portable", "native", "triton"]
FORM_NAMES: tuple[FormName, ...] = ("reference", "portable", "native", "triton")
AUTOMATIC = "auto"

_logger = logging.getLogger(__name__)
# A plain global: torch.compile guards on it and recompiles; it cannot trace a ContextVar, and reads a
# threading.local without guarding on it.
_choice: str = AUTOMATIC


@dataclass(frozen=True)
class Form(Generic[P]):
    """One way to run an operation.

    `missing` is None where the form can run on this machine, else the one-line reason `doctor` prints; it
    is found by a feature test (is the library there, does the module import), never by a version list.
    `refusal` takes the same arguments as `run` and returns None when the form computes this call, else why
    not (without shapes: the text is recorded once per process). `devices` are the device types for which
    the automatic choice considers the form; empty means all.
    """

    name: FormName
    run: Callable[Concatenate[Tensor, P], Tensor]
    missing: str | None
    refusal: Callable[Concatenate[Tensor, P], str | None]
    devices: tuple[str, ...] = ()
    is_twice_differentiable: bool = True


@dataclass(frozen=True)
class Fallback:
    """A slower form that ran because a faster one could not."""

    operation: str
    wanted: str
    used: str
    reason: str


@dataclass(frozen=True)
class FormStatus:
    """What `doctor` says of one form of one operation; `missing` is None when the form can run here."""

    operation: str
    form: str
    missing: str | None
    is_twice_differentiable: bool


_fallbacks: dict[Fallback, None] = {}
_logged_reasons: set[str] = set()


class Operation(Generic[P]):
    """An operation's name and its forms, most preferred first."""

    def __init__(self, name: str, forms: tuple[Form[P], ...]) -> None:
        self.name = name
        self.forms = forms

    def run(self, implementation: str | None, x: Tensor, *args: P.args, **kwargs: P.kwargs) -> Tensor:
        """Run the form called `implementation`, or with None the form of the current choice.

        Raises UsageError for an unknown name, UnavailableError where the form cannot run on this machine
        and UnsupportedError where it refuses these tensors or options.
        """
        form = self._choose(implementation, x, *args, **kwargs)
        return form.run(x, *args, **kwargs)

    def find(self, name: str) -> Form[P] | None:
        """Return the form called `name`, or None where this operation has no such form."""
        for form in self.forms:
            if form.name == name:
                return form
        return None

    def statuses(self) -> tuple[FormStatus, ...]:
        """Tell for each form whether it can run on this machine."""
        return tuple(
            FormStatus(self.name, form.name, form.missing, form.is_twice_differentiable)
            for form in self.forms
        )

    def _choose(self, implementation: str | None, x: Tensor, *args: P.args, **kwargs: P.kwargs) -> Form[P]:
        if implementation is not None:
            return self._choose_strictly(implementation, x, *args, **kwargs)
        if _choice == AUTOMATIC or self.find(_choice) is None:
            return self._choose_automatically(x, *args, **kwargs)
        return self._choose_strictly(_choice, x, *args, **kwargs)

    def _choose_strictly(self, name: str, x: Tensor, *args: P.args, **kwargs: P.kwargs) -> Form[P]:
        if name == AUTOMATIC:
            return self._choose_automatically(x, *args, **kwargs)
        check_form_name(name)
        form = self.find(name)
        if form is None:
            names = ", ".join(form.name for form in self.forms)
            raise UnavailableError(f"{self.name} has no {name} form; it has: {names}")
        if form.missing is not None:
            raise UnavailableError(f"the {name} form of {self.name} is not available: {form.missing}")
        reason = form.refusal(x, *args, **kwargs)
        if reason is not None:
            raise UnsupportedError(
                f"the {name} form of {self.name} cannot run this call: {reason}; "
                'leave `implementation` out or use "portable"'
            )
        return form

    def _choose_automatically(self, x: Tensor, *args: P.args, **kwargs: P.kwargs) -> Form[P]:
        if torch.compiler.is_exporting():
            # An exported program must hold plain ATen operations that any engine knows.
            return self._choose_strictly("portable", x, *args, **kwargs)
        skipped: list[tuple[str, str]] = []
        for form in self.forms:
            if form.devices and x.device.type not in form.devices:
                continue
            reason = form.missing or form.refusal(x, *args, **kwargs)
            if reason is None:
                _record_fallbacks(self.name, skipped, form.name)
                return form
            skipped.append((form.name, reason))
        raise UnsupportedError(f"no form of {self.name} can run this call: {skipped}")


@contextmanager
def use_implementation(name: str) -> Iterator[None]:
    """Let every operation of this process run its form called `name` until the `with` block ends.

    Takes a form's name or "auto": native where it is built and the tensors qualify, triton for tensors on a
    GPU, else portable, and always portable while `torch.export` traces. A named form either runs or
    raises as in `Operation.run`; an operation that has no form of that name keeps its automatic choice.
    """
    if name != AUTOMATIC:
        check_form_name(name)
    global _choice
    outer, _choice = _choice, name
    try:
        yield
    finally:
        _choice = outer


def fallbacks() -> tuple[Fallback, ...]:
    """Return every fallback of this process so far, in order of first appearance."""
    return tuple(_fallbacks)


@contextmanager
def collect_fallbacks() -> Iterator[None]:
    """Let `fallbacks()` list those of the `with` block alone, though this process has met them before."""
    global _fallbacks
    outer, _fallbacks = _fallbacks, {}
    try:
        yield
    finally:
        outer.update(_fallbacks)
        _fallbacks = outer


def record_fallback(fallback: Fallback) -> None:
    """Record that a slower form runs, and say so in the log where its reason is new."""
    _fallbacks.setdefault(fallback)
    if fallback.reason not in _logged_reasons:
        _logged_reasons.add(fallback.reason)
        _logger.warning(
            "%s: the %s form runs instead of %s: %s",
            fallback.operation,
            fallback.used,
            fallback.wanted,
            fallback.reason,
        )


def check_form_name(name: str) -> None:
    """Raise UsageError unless `name` is the name of a form."""
    if name not in FORM_NAMES:
        raise UsageError(f"unknown implementation {name!r}; allowed: {', '.join(FORM_NAMES)}, or {AUTOMATIC}")


def never_refuses(*_: object) -> None:
    """Accept every call: the `refusal` of forms that compute everything."""
    return


def _record_fallbacks(operation: str, skipped: list[tuple[str, str]], used: str) -> None:
    if torch.compiler.is_compiling():
        return
    for wanted, reason in skipped:
        record_fallback(Fallback(operation, wanted, used, reason))
