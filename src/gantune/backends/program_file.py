"""Build an artifact around one torch.export program, for the engines of torch."""

from pathlib import Path

import torch
from torch import nn

from gantune.backends.backend import BuildOptions
from gantune.backends.building import build_folder
from gantune.errors import UnsupportedError
from gantune.exporting.torch_program import export_program
from gantune.networks.contract import Network
from gantune.records.artifact import Artifact, Engine
from gantune.transforms.fused_layers import products_of

ENTRY = "network.pt2"
_DTYPES = {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float16: "fp16"}


def build_program_artifact(
    network: Network | nn.Module, out_dir: Path, options: BuildOptions, *, engine: Engine
) -> Artifact:
    """Trace, save, and describe; raise `UnsupportedError` where the weights are not in that precision."""
    assert isinstance(network, nn.Module)
    check_precision(network, options)
    return build_folder(
        lambda path: export_program(network, path, options.export),
        out_dir,
        options,
        engine=engine,
        entry=ENTRY,
    )


def check_precision(network: nn.Module, options: BuildOptions) -> None:
    """Raise `UnsupportedError` unless the network computes in the precision asked for."""
    found = {_DTYPES.get(tensor.dtype) for tensor in network.state_dict().values()} - {None}
    found |= {"bf16" for products in products_of(network) if products != "fp32"}
    if options.precision not in found or (options.precision == "fp32" and found != {"fp32"}):
        raise UnsupportedError(
            f"A torch artifact in {options.precision} was asked for, and the network computes in "
            f"{sorted(map(str, found))}; apply the transform precision or fusion first."
        )
