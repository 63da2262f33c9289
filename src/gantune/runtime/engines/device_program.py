"""Run a traced program on a GPU from arrays: pinned buffers, asynchronous copies, CUDA graphs, TF32."""

from collections.abc import Callable
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gantune.errors import UnavailableError
from gantune.runtime.engines.cuda_graphs import GraphedCall
from gantune.runtime.engines.float32_products import float32_products
from gantune.runtime.engines.torch_options import TorchOptions


class Staging:
    """Carry arrays to a device through memory the device reads by itself, kept for each name and shape."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._is_pinned = device.type == "cuda"
        self._buffers: dict[tuple[str, torch.dtype, tuple[int, ...]], Tensor] = {}

    def send(self, name: str, array: NDArray[np.generic]) -> Tensor:
        """Return the array on the device; the copy may still be under way, in order with what follows."""
        source = torch.from_numpy(array)
        buffer = self._buffer(name, source)
        buffer.copy_(source)
        return buffer.to(self._device, non_blocking=True, copy=True)

    def receive(self, tensor: Tensor) -> NDArray[np.generic]:
        """Wait for a tensor and return it as an array that the caller owns."""
        buffer = self._buffer("output", tensor)
        buffer.copy_(tensor, non_blocking=True)
        if self._is_pinned:
            torch.cuda.current_stream(self._device).synchronize()
        return cast(NDArray[np.generic], buffer.numpy().copy())

    def _buffer(self, name: str, like: Tensor) -> Tensor:
        key = (name, like.dtype, tuple(like.shape))
        if key not in self._buffers:
            self._buffers[key] = torch.empty(like.shape, dtype=like.dtype, pin_memory=self._is_pinned)
        return self._buffers[key]


class DeviceProgram:
    """Run `call`, whose tensors are on a GPU, from arrays given by name."""

    def __init__(
        self, call: Callable[..., Tensor], *, names: list[str], device: torch.device, options: TorchOptions
    ) -> None:
        self._call = GraphedCall(call) if options.uses_cuda_graphs else call
        self._names = names
        self._products = options.float32_products
        self._staging = Staging(device)

    @torch.inference_mode()
    def run(self, inputs: dict[str, NDArray[np.generic]]) -> NDArray[np.float32]:
        """Return the output for checked inputs, as an array that the caller owns."""
        with float32_products(self._products):
            output = self._call(*(self._staging.send(name, inputs[name]) for name in self._names))
        return cast(NDArray[np.float32], self._staging.receive(output))


def find_cuda() -> torch.device:
    """Return the current CUDA device; raise UnavailableError where there is none."""
    if not torch.cuda.is_available():
        raise UnavailableError(
            "the artifact asks for a CUDA device, and torch finds none here; build it with device=cpu"
        )
    return torch.device("cuda", torch.cuda.current_device())
