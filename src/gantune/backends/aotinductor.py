"""Torch's compiler ahead of time: what torch_compile compiles at its first run is compiled at the export."""

from pathlib import Path

from torch import nn

from gantune.backends.backend import Backend, BuildOptions, Plan
from gantune.backends.building import build_folder
from gantune.backends.compiler import missing_compiler
from gantune.backends.program_file import check_precision
from gantune.backends.steps import program_steps
from gantune.errors import UnavailableError
from gantune.exporting.aotinductor import export_package
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
    return build_folder(
        lambda path: export_package(network, path, options.export),
        out_dir,
        options,
        engine="aotinductor",
        entry=ENTRY,
    )


def _missing() -> str | None:
    return missing_compiler("AOTInductor needs a C++ compiler to build an artifact")


def _plans(family: str) -> tuple[Plan, ...]:
    return (Plan("aotinductor-fp32", "fp32", program_steps(family, "fp32")),)


BACKEND = Backend(name="aotinductor", missing=_missing, build=build, plans=_plans)
