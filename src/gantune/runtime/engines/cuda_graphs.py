"""Replay a call on a GPU as one CUDA graph: no launch of a kernel waits for Python any more."""

from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor

Shapes: TypeAlias = tuple[tuple[torch.dtype, tuple[int, ...]], ...]
_NUM_WARMUP = 3


class GraphedCall:
    """Record `call` once for each shape of its tensors, up to `most_shapes`, and replay it.

    The result is the graph's own memory: the next call overwrites it, so copy what is kept. Other shapes run
    as they are. Every graph keeps the memory of its intermediate images; all share one pool, so the largest
    decides.
    """

    def __init__(self, call: Callable[..., Tensor], *, most_shapes: int = 4) -> None:
        self._call = call
        self._most_shapes = most_shapes
        self._recordings: dict[Shapes, tuple[torch.cuda.CUDAGraph, tuple[Tensor, ...], Tensor]] = {}

    def __call__(self, *tensors: Tensor) -> Tensor:
        """Copy the tensors into the graph's own inputs, replay, and return its output."""
        shapes: Shapes = tuple((tensor.dtype, tuple(tensor.shape)) for tensor in tensors)
        if shapes not in self._recordings:
            if len(self._recordings) >= self._most_shapes:
                return self._call(*tensors)
            self._recordings[shapes] = self._record(tensors)
        graph, inputs, output = self._recordings[shapes]
        for own, given in zip(inputs, tensors, strict=True):
            own.copy_(given, non_blocking=True)
        graph.replay()
        return output

    @property
    def num_recordings(self) -> int:
        """Give the number of shapes recorded so far."""
        return len(self._recordings)

    def _record(self, tensors: tuple[Tensor, ...]) -> tuple[torch.cuda.CUDAGraph, tuple[Tensor, ...], Tensor]:
        inputs = tuple(tensor.clone() for tensor in tensors)
        # Libraries set themselves up in the first calls, which must not happen while recording.
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(_NUM_WARMUP):
                self._call(*inputs)
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        pool = next((recording[0].pool() for recording in self._recordings.values()), None)
        with torch.cuda.graph(graph, pool=pool):
            output = self._call(*inputs)
        return graph, inputs, output
