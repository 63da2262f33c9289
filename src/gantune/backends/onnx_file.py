"""Build an artifact around one ONNX file, for the engines that read it."""

from pathlib import Path

from torch import nn

from gantune.backends.backend import BuildOptions
from gantune.backends.building import build_folder
from gantune.exporting.onnx_export import export_onnx
from gantune.exporting.qdq import export_qdq
from gantune.networks.contract import Network
from gantune.records.artifact import Artifact, Engine

ENTRY = "network.onnx"


def build_onnx_artifact(
    network: Network | nn.Module, out_dir: Path, options: BuildOptions, *, engine: Engine
) -> Artifact:
    """Export, check, and describe; precision "int8" takes a network made by `transforms.quantize`."""
    export = export_qdq if options.precision == "int8" else export_onnx
    return build_folder(
        lambda path: export(network, path, options.export).traced,
        out_dir,
        options,
        engine=engine,
        entry=ENTRY,
    )
