"""Count the bytes of living tensors, and their peak: what a program needs, whatever the allocator.

Room that an operation uses within itself is not seen.
"""

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class LiveBytes(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Follow every storage that an operation gives, from its birth to its end, within a `with` block.

    Tensors that live before the block are for the caller to count.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.current_bytes = 0
        self.peak_bytes = 0
        self._known: set[int] = set()

    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> object:
        for leaf in tree_leaves((args, kwargs)):
            # What comes from outside was counted by the caller, as was what an operation hands through.
            if isinstance(leaf, torch.Tensor):
                self._remember(leaf.untyped_storage(), counts=False)
        result = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor):
                self._remember(leaf.untyped_storage(), counts=True)
        return result

    def _remember(self, storage: torch.UntypedStorage, *, counts: bool) -> None:
        key = id(storage)
        if key in self._known:
            return
        self._known.add(key)
        size = storage.nbytes() if counts else 0
        self.current_bytes += size
        self.peak_bytes = max(self.peak_bytes, self.current_bytes)
        weakref.finalize(storage, self._forget, key, size).atexit = False

    def _forget(self, key: int, size: int) -> None:
        self._known.discard(key)
        self.current_bytes -= size
