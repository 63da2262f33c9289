"""Torch's compiler ahead of time: what torch_compile compiles at its first run is compiled at the export."""

import shutil
from pathlib import Path

from torch import nn

from gantune.backends.backend import Backend, BuildOptions, Plan
from gantune.backends.program_file import check_precision
from gantune.backends.steps import program_steps
from gantune.errors import UnavailableError
from gantune.exporting.aotinductor import export_package
from gantune.exporting.artifact import describe_artifact, new_folder
from gantune.networks.contract import Network
from gantune.records.artifact import Artifact

ENTRY = "network.pt2"


def build(network: Network | nn.Module, out_dir: Path, options: BuildOptions) -> Artifact:
    """Build an artifact of machine code for this kind of processor; takes a minute or more.

    Raise `UnavailableError` where there is no C++ compiler.
    """
    missing = _missing()
    if missing:
        raise UnavailableError(missing)
    assert isinstance(network, nn.Module)
    check_precision(network, options)
    with new_folder(out_dir) as folder:
        traced = export_package(network, folder / ENTRY, options.export)
        return describe_artifact(
            traced,
            folder,
            ENTRY,
            engine="aotinductor",
            precision=options.precision,
            options=dict(options.engine_options),
            environment=options.environment,
        )


def _missing() -> str | None:
    if any(shutil.which(compiler) for compiler in ("g++", "clang++", "c++")):
        return None
    return "AOTInductor needs a C++ compiler to build an artifact (g++ or clang++), and none was found"


def _plans(family: str) -> tuple[Plan, ...]:
    return (Plan("aotinductor-fp32", "fp32", program_steps(family, "fp32")),)


BACKEND = Backend(name="aotinductor", missing=_missing, build=build, plans=_plans)
