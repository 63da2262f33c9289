"""Hooks into torch that tell a listener what a script does: optimizers, batches, backward passes, modules.

Each costs microseconds a call, and `remove` takes all of them out again.
"""

import threading
from collections.abc import Callable
from typing import Protocol

import torch
from torch import nn
from torch.autograd.profiler import record_function
from torch.nn.modules import module as module_hooks
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils.data import dataloader

from gantune.measuring.clock import read_clock_ns


class Listener(Protocol):
    """Who is told; times are of `read_clock_ns`."""

    def on_optimizer_start(self, optimizer: Optimizer) -> None:
        """Take the beginning of an optimizer's step."""

    def on_optimizer_end(self, optimizer: Optimizer) -> None:
        """Take the end of an optimizer's step."""

    def on_load(self, iterator: object, batch: object, start_ns: int) -> None:
        """Take a batch that a DataLoader has given."""

    def on_backward(self, tensors: object, start_ns: int) -> None:
        """Take the end of a backward pass."""

    def on_grad(self, outputs: object, inputs: object, is_differentiable: bool, start_ns: int) -> None:
        """Take the end of a call of `torch.autograd.grad`."""

    def on_range(self, name: str) -> None:
        """Take the beginning of a named range."""

    def on_no_grad(self, start_ns: int) -> None:
        """Take the end of an outermost region in which nothing is differentiated."""

    def on_module_start(self, module: nn.Module, inputs: tuple[object, ...]) -> None:
        """Take the beginning of a module's forward pass."""

    def on_module_end(self, module: nn.Module, output: object) -> None:
        """Take the end of a module's forward pass."""


class Taps:
    """The hooks of one process; `add_modules` adds those that cost more."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._undo: list[Callable[[], object]] = []
        self._regions: list[int] = []
        self._thread = threading.get_ident()

    def add(self) -> None:
        """Put hooks on optimizers, data loaders, backward passes and named ranges."""
        listener = self._listener
        pre = register_optimizer_step_pre_hook(lambda optimizer, *_: listener.on_optimizer_start(optimizer))
        post = register_optimizer_step_post_hook(lambda optimizer, *_: listener.on_optimizer_end(optimizer))
        self._undo += [pre.remove, post.remove]
        self._replace(dataloader._BaseDataLoaderIter, "__next__", self._wrap_next)
        self._replace(torch.autograd, "backward", self._wrap_backward)
        self._replace(torch.autograd, "grad", self._wrap_grad)
        self._replace(record_function, "__enter__", self._wrap_enter)

    def add_modules(self) -> None:
        """Put hooks on the forward pass of every module, and on regions without gradients."""
        listener = self._listener
        pre = module_hooks.register_module_forward_pre_hook(
            lambda module, inputs: listener.on_module_start(module, inputs)
        )
        post = module_hooks.register_module_forward_hook(
            lambda module, _inputs, output: listener.on_module_end(module, output)
        )
        self._undo += [pre.remove, post.remove]
        for kind in (torch.no_grad, torch.inference_mode):
            self._replace(kind, "__enter__", self._wrap_region_start)
            self._replace(kind, "__exit__", self._wrap_region_end)

    def remove(self) -> None:
        """Take all hooks out."""
        self._regions.clear()
        while self._undo:
            self._undo.pop()()

    def _replace(self, owner: object, name: str, wrap: Callable[[Callable[..., object]], object]) -> None:
        original = getattr(owner, name)
        setattr(owner, name, wrap(original))
        self._undo.append(lambda: setattr(owner, name, original))

    def _wrap_next(self, original: Callable[..., object]) -> Callable[[object], object]:
        def __next__(iterator: object) -> object:  # noqa: N807
            start = read_clock_ns()
            batch = original(iterator)
            self._listener.on_load(iterator, batch, start)
            return batch

        return __next__

    def _wrap_backward(self, original: Callable[..., object]) -> Callable[..., object]:
        def backward(tensors: object, *args: object, **kwargs: object) -> None:
            start = read_clock_ns()
            original(tensors, *args, **kwargs)
            self._listener.on_backward(tensors, start)

        return backward

    def _wrap_grad(self, original: Callable[..., object]) -> Callable[..., object]:
        def grad(outputs: object, inputs: object, *args: object, **kwargs: object) -> object:
            start = read_clock_ns()
            found = original(outputs, inputs, *args, **kwargs)
            is_differentiable = bool(kwargs.get("create_graph", args[2] if len(args) > 2 else False))
            self._listener.on_grad(outputs, inputs, is_differentiable, start)
            return found

        return grad

    def _wrap_enter(self, original: Callable[..., object]) -> Callable[[record_function], object]:
        def __enter__(entered: record_function) -> object:  # noqa: N807
            self._listener.on_range(entered.name)
            return original(entered)

        return __enter__

    def _wrap_region_start(self, original: Callable[..., object]) -> Callable[[object], object]:
        def __enter__(entered: object) -> object:  # noqa: N807
            if threading.get_ident() == self._thread and _stops_gradients(entered):
                self._regions.append(read_clock_ns())
            return original(entered)

        return __enter__

    def _wrap_region_end(self, original: Callable[..., object]) -> Callable[..., object]:
        def __exit__(left: object, *error: object) -> object:  # noqa: N807
            if threading.get_ident() == self._thread and self._regions and _stops_gradients(left):
                start = self._regions.pop()
                if not self._regions:
                    self._listener.on_no_grad(start)
            return original(left, *error)

        return __exit__


def _stops_gradients(region: object) -> bool:
    """Tell torch.no_grad and torch.inference_mode from inference_mode(False)."""
    return bool(getattr(region, "mode", True))
