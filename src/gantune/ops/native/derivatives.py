"""What torch hands to the derivatives of an operator: the part of autograd's context that they use."""

from typing import Protocol, TypeVar

from torch import Tensor

Call = TypeVar("Call")


class Context(Protocol[Call]):
    """Keeps tensors, and in `call` the other arguments, from the forward to the backward pass."""

    call: Call

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """Return what `save_for_backward` kept."""

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors."""
