"""Compile a network ahead of time into one package of machine code, by torch's AOTInductor."""

import warnings
from pathlib import Path

import torch
from torch import nn

from gantune.errors import ExportError, first_line
from gantune.exporting.options import ExportOptions
from gantune.exporting.torch_program import trace_program
from gantune.exporting.traced import TracedNetwork
from gantune.networks.contract import Network
from gantune.runtime.engines.aotinductor import PRECISION_KEY
from gantune.runtime.engines.torch_program import read_program_precision


def export_package(
    network: Network | nn.Module, path: Path, options: ExportOptions | None = None
) -> TracedNetwork:
    """Trace with free sizes and write machine code for this processor as a `.pt2` package.

    Needs a C++ compiler here and none where the package runs. Raise `ExportError` where the network cannot be
    traced for every batch size or compiled.
    """
    traced, program = trace_program(network, options)
    try:
        with warnings.catch_warnings():
            # Inductor's own imports and its package format use parts of torch that torch deprecates.
            warnings.filterwarnings("ignore", category=DeprecationWarning)
            warnings.filterwarnings("ignore", category=FutureWarning)
            torch._inductor.aoti_compile_and_package(
                program,
                package_path=str(path),
                inductor_configs={
                    "aot_inductor.metadata": {PRECISION_KEY: read_program_precision(program.graph)}
                },
            )
    except RuntimeError as error:
        raise ExportError(f"AOTInductor cannot compile the network: {first_line(error)}") from error
    return traced
