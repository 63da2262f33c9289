"""Run a program saved by torch.export, as it is or through torch.compile, on the CPU or a GPU."""

from pathlib import Path
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import fx

from gantune.errors import CheckpointError, first_line
from gantune.records.artifact import Artifact
from gantune.runtime.engines.device_program import DeviceProgram, find_cuda
from gantune.runtime.engines.folded_constants import fold_constants
from gantune.runtime.engines.joined_layers import join_layers
from gantune.runtime.engines.native_products import use_native_products
from gantune.runtime.engines.packed_weights import pack_weights
from gantune.runtime.engines.program_file import open_program
from gantune.runtime.engines.session import Session, summarize_precisions
from gantune.runtime.engines.torch_options import read_torch_options
from gantune.runtime.inputs import Arrays

_PRODUCTS = {"mm", "addmm", "bmm", "baddbmm", "linear", "matmul"}
_PRECISIONS = {
    torch.float32: "fp32",
    torch.bfloat16: "bf16",
    torch.float16: "fp16",
    torch.int8: "int8",
    torch.uint8: "int8",
}


class _TorchSession:
    def __init__(self, artifact: Artifact, path: Path, threads: int | None) -> None:
        # The program may call gantune's operators, which register themselves when imported.
        import gantune.ops.styled_convolution  # noqa: F401

        if threads is not None:
            torch.set_num_threads(threads)
        options = read_torch_options(artifact)
        device = find_cuda() if options.device == "cuda" else None
        module = open_program(path, device=device)
        self._precision = read_program_precision(module.graph)
        self._names = [spec.name for spec in artifact.inputs]
        _check_input_count(artifact, path, module)
        specialize(module, has_native_layers=device is None)
        self._call = torch.compile(module) if artifact.engine == "torch_compile" else module
        self._on_device = None
        if device is not None:
            self._on_device = DeviceProgram(self._call, names=self._names, device=device, options=options)

    @torch.inference_mode()
    def run(self, inputs: Arrays) -> NDArray[np.float32]:
        if self._on_device is not None:
            return self._on_device.run(inputs)
        output = self._call(*(torch.from_numpy(inputs[name]) for name in self._names))
        return cast(NDArray[np.float32], output.numpy())

    def read_precision(self) -> str:
        """Give what the program's graph said when it was loaded."""
        return self._precision


def specialize(module: fx.GraphModule, *, has_native_layers: bool = True) -> None:
    """Compute what is constant and bring the native layers into this processor's form, in place."""
    fold_constants(module)
    if has_native_layers:
        use_native_products(module)
        pack_weights(module)
        join_layers(module)


def _check_input_count(artifact: Artifact, path: Path, module: fx.GraphModule) -> None:
    found = sum(node.op == "placeholder" for node in module.graph.nodes)
    if found != len(artifact.inputs):
        raise CheckpointError(
            f"artifact.json names {len(artifact.inputs)} inputs, and {path} takes {found}; export it again"
        )


def read_program_precision(graph: fx.Graph) -> str:
    """Tell what the dense layers of a program's graph compute in, as `summarize_precisions` writes it."""
    dense = (node for node in graph.nodes if node.op == "call_function" and _is_dense(str(node.target)))
    return summarize_precisions([_precision_of(node) for node in dense])


def _precision_of(node: torch.fx.Node) -> str:
    if "styled_convolution" in str(node.target):
        # Its tensors are float32; what it multiplies in is its last argument, such as bf16_large.
        return str(node.args[-1]).partition("_")[0]
    tensor = node.args[0]
    assert isinstance(tensor, torch.fx.Node)
    # A graph that torch has just traced says so in its own way.
    dtype = tensor.meta["val"].dtype if "val" in tensor.meta else tensor.meta["dtype"]
    return _PRECISIONS.get(dtype, str(dtype))


def _is_dense(target: str) -> bool:
    words = target.split(".")
    return any("conv" in word or word in _PRODUCTS for word in words)


def open_session(artifact: Artifact, directory: Path, threads: int | None) -> Session:
    """Load the artifact's program; raise CheckpointError where it cannot be."""
    path = directory / artifact.entry
    try:
        return _TorchSession(artifact, path, threads)
    except (RuntimeError, ValueError, KeyError, OSError) as error:
        raise CheckpointError(f"{path} cannot be opened: {first_line(error)}") from error
