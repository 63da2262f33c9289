"""Registration of a native operation as an operator of torch, with its description and its derivatives.

`torch.library.custom_op` imports torch's compiler when such an operator is first called (145 MiB and a
second); a program in use compiles nothing.
"""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import torch

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

_LIBRARY = torch.library.Library("gantune", "FRAGMENT")  # type: ignore[no-untyped-call]


class Operator:
    """The operator `gantune::name` of one function, whose annotations are its schema; it runs on a CPU."""

    def __init__(self, name: str, run: Callable[..., object]) -> None:
        self._name = f"gantune::{name}"
        schema = torch.library.infer_schema(run, mutates_args=())
        _LIBRARY.define(name + schema, tags=(torch.Tag.pt2_compliant_tag,))  # type: ignore[no-untyped-call]
        _LIBRARY.impl(name, run, "CPU")  # type: ignore[no-untyped-call]

    def register_fake(self, describe: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
        """Take the function that returns tensors of the result's sizes, whatever they hold."""
        torch.library.register_fake(self._name, describe, lib=_LIBRARY)
        return describe

    def register_autograd(
        self, differentiate: Callable[..., object], *, setup_context: Callable[..., object]
    ) -> None:
        """Take the function of gradients and the one that remembers what it needs."""
        torch.library.register_autograd(self._name, differentiate, setup_context=setup_context, lib=_LIBRARY)


def native_operator(name: str) -> Callable[[Callable[..., object]], Operator]:
    """Make the decorated function the operator `gantune::name`."""
    return lambda run: Operator(name, run)
