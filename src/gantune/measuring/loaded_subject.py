"""Open a subject inside its own process; torch is imported only where the subject needs it."""

import gc
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from gantune.measuring.form_fallbacks import read_fallbacks
from gantune.measuring.subject import ArtifactSource, CheckpointSource, FamilySource, Subject
from gantune.records.fallback import FormFallback
from gantune.records.interface import InputSpec

if TYPE_CHECKING:
    from torch import Tensor, nn

Arrays = Mapping[str, NDArray[np.generic]]
Call = Callable[[], object]


class LoadedSubject(Protocol):
    """A subject that can run."""

    inputs: tuple[InputSpec, ...]
    allocator: str | None

    def prepare(self, arrays: Arrays) -> Call:
        """Return a call without arguments that runs the subject on `arrays`."""
        ...

    def to_array(self, output: object) -> NDArray[np.generic]:
        """Turn what such a call returns into an array."""
        ...

    def read_precision(self) -> str:
        """Say in which precision the dense layers run."""
        ...

    def count_live_bytes(self) -> int | None:
        """Count the bytes of tensors alive in this process, None where torch holds none."""
        ...

    def list_fallbacks(self) -> tuple[FormFallback, ...]:
        """List the slower forms of gantune's operations that ran so far."""
        ...


def open_subject(subject: Subject) -> LoadedSubject:
    """Load the subject's artifact or network."""
    if isinstance(subject.source, ArtifactSource):
        return _Artifact(subject.source, subject.threads)
    return _Network(subject.source, subject.threads)


class _Artifact:
    def __init__(self, source: ArtifactSource, threads: int | None) -> None:
        from gantune import runtime

        self._loaded = runtime.load(source.directory, threads=threads, tune_allocator=source.tune_allocator)
        self.inputs = self._loaded.inputs
        self._is_torch = self._loaded.artifact.engine in ("torch", "torch_compile")
        tuning = self._loaded.allocator
        self.allocator = f"glibc ({tuning.reason})" if tuning.is_applied else None

    def prepare(self, arrays: Arrays) -> Call:
        return lambda: self._loaded(**arrays)

    def to_array(self, output: object) -> NDArray[np.generic]:
        return np.asarray(output)

    def read_precision(self) -> str:
        return self._loaded.precision_used

    def count_live_bytes(self) -> int | None:
        return _count_tensor_bytes() if self._is_torch else None

    def list_fallbacks(self) -> tuple[FormFallback, ...]:
        return read_fallbacks() if self._is_torch else ()


class _Network:
    def __init__(self, source: CheckpointSource | FamilySource, threads: int | None) -> None:
        import torch

        if threads is not None:
            torch.set_num_threads(threads)
        self._network = _build(source)
        if isinstance(source, CheckpointSource) and source.is_channels_last:
            _order_channels_last(self._network)
        self._implementation = source.implementation
        self._is_autocast = isinstance(source, CheckpointSource) and source.is_autocast
        self.inputs: tuple[InputSpec, ...] = self._network.inputs  # type: ignore[assignment]
        self.allocator: str | None = None

    def prepare(self, arrays: Arrays) -> Call:
        import torch

        from gantune.ops import use_implementation

        tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}

        def call() -> "Tensor":
            casting = torch.autocast("cpu", dtype=torch.bfloat16, enabled=self._is_autocast)
            with torch.inference_mode(), use_implementation(self._implementation), casting:
                output: Tensor = self._network(**tensors)
            return output.float() if self._is_autocast else output

        return call

    def to_array(self, output: object) -> NDArray[np.generic]:
        return np.asarray(output)

    def read_precision(self) -> str:
        if self._is_autocast:
            return "bf16"
        names = {"torch.float32": "fp32", "torch.bfloat16": "bf16", "torch.float16": "fp16"}
        found = dict.fromkeys(str(parameter.dtype) for parameter in self._network.parameters())
        return ", ".join(names.get(name, name) for name in found) or "unknown"

    def count_live_bytes(self) -> int | None:
        return _count_tensor_bytes()

    def list_fallbacks(self) -> tuple[FormFallback, ...]:
        return read_fallbacks()


def _build(source: CheckpointSource | FamilySource) -> "nn.Module":
    import torch

    if isinstance(source, CheckpointSource):
        from gantune.checkpoints import load

        return load(source.path)
    from gantune.networks.catalogue import build_network

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(source.seed)
        return build_network(source.family, dict(source.config))


def _order_channels_last(network: "nn.Module") -> None:
    import torch

    for tensor in (*network.parameters(), *network.buffers()):
        if tensor.ndim == 4:
            tensor.data = tensor.data.contiguous(memory_format=torch.channels_last)


def _count_tensor_bytes() -> int:
    """Add up the storages of all tensors that Python can reach, each storage once."""
    import torch

    # Exactly these types: the fake tensors that a loaded program keeps for its shapes hold no memory.
    tensors = [found for found in gc.get_objects() if type(found) in (torch.Tensor, torch.nn.Parameter)]
    storages = {tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes() for tensor in tensors}
    return sum(storages.values())
