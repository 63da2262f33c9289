"""Build an artifact around one ONNX file, for the engines that read it."""

from pathlib import Path

from torch import nn

from gantune.backends.backend import BuildOptions
from gantune.exporting.artifact import describe_artifact, new_folder
from gantune.exporting.onnx_export import export_onnx
from gantune.exporting.qdq import export_qdq
from gantune.networks.contract import Network
from gantune.records.artifact import Artifact, Engine

ENTRY = "network.onnx"


def build_onnx_artifact(
    network: Network | nn.Module, out_dir: Path, options: BuildOptions, *, engine: Engine
) -> Artifact:
    """Export, check, and describe; `out_dir` appears only when all of it is there.

    Precision "int8" takes a network made by `transforms.quantize`.
    """
    export = export_qdq if options.precision == "int8" else export_onnx
    with new_folder(out_dir) as folder:
        report = export(network, folder / ENTRY, options.export)
        return describe_artifact(
            report.traced,
            folder,
            ENTRY,
            engine=engine,
            precision=options.precision,
            options=dict(options.engine_options),
            environment=options.environment,
        )
