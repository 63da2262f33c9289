"""Write a network as a torch.export program, which runs without gantune's networks."""

import warnings
from pathlib import Path

import torch
from torch import nn

from gantune.errors import ExportError, StorageError, first_line
from gantune.exporting.options import ExportOptions
from gantune.exporting.traced import TracedNetwork
from gantune.networks.contract import Network
from gantune.ops.catalogue import OPERATIONS
from gantune.ops.choose import AUTOMATIC, use_implementation
from gantune.runtime.engines.program_file import save_program
from gantune.transforms.fused_layers import FUSED_LAYERS

_TRACING_ERRORS = (RuntimeError, ValueError, TypeError, AssertionError, KeyError)


def export_program(
    network: Network | nn.Module, path: Path, options: ExportOptions | None = None
) -> TracedNetwork:
    """Trace with free sizes and save a `.pt2`; it may hold gantune's own operators.

    Raise `ExportError` where the network cannot be traced for every batch size.
    """
    traced, program = trace_program(network, options)
    try:
        with warnings.catch_warnings():
            # The archive takes a channels-last tensor for a part of a larger one; it is written whole.
            warnings.filterwarnings("ignore", message="No complete tensor found", category=UserWarning)
            # torch copies its own trees of inputs, and warns of how it does.
            warnings.filterwarnings("ignore", message=".*LeafSpec", category=FutureWarning)
            save_program(program, path)
    except OSError as error:
        raise StorageError(f"{path} could not be written: {error.strerror}.") from error
    return traced


def trace_program(
    network: Network | nn.Module, options: ExportOptions | None = None
) -> tuple[TracedNetwork, torch.export.ExportedProgram]:
    """Trace with free sizes; raise `ExportError` where the network cannot be traced for every batch size."""
    assert isinstance(network, nn.Module)
    traced = TracedNetwork(network, options or ExportOptions()).eval()
    try:
        with torch.no_grad(), use_implementation(_implementation(network)):
            program = torch.export.export(
                traced, traced.example(), dynamic_shapes=(traced.dynamic_shapes(),), strict=False
            )
    except _TRACING_ERRORS as error:
        raise ExportError(f"The network cannot be traced by torch.export: {first_line(error)}") from error
    _check_no_randomness(program)
    return traced, program


def _implementation(network: nn.Module) -> str:
    """Put the native forms of the other operations into a program that needs gantune's operators anyway."""
    is_fused = any(isinstance(module, FUSED_LAYERS) for module in network.modules())
    is_built = all(form.missing is None for form in (op.find("native") for op in OPERATIONS) if form)
    return "native" if is_fused and is_built else AUTOMATIC


def _check_no_randomness(program: torch.export.ExportedProgram) -> None:
    for node in program.graph.nodes:
        if node.op == "call_function" and any(
            word in str(node.target) for word in ("rand", "normal_", "bernoulli")
        ):
            raise ExportError(f"The traced program draws random numbers ({node.target}).")
