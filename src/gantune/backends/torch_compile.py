"""Torch's compiler over an exported program."""

from pathlib import Path

from torch import nn

from gantune.backends.backend import Backend, BuildOptions, Plan
from gantune.backends.compiler import missing_compiler
from gantune.backends.program_file import build_program_artifact
from gantune.backends.steps import program_steps
from gantune.networks.contract import Network
from gantune.records.artifact import Artifact


def build(network: Network | nn.Module, out_dir: Path, options: BuildOptions) -> Artifact:
    """Build an artifact that is compiled when it is first run."""
    return build_program_artifact(network, out_dir, options, engine="torch_compile")


def _missing() -> str | None:
    return missing_compiler("torch.compile needs a C++ compiler on a CPU")


def _plans(family: str) -> tuple[Plan, ...]:
    return (Plan("torch-compile-fp32", "fp32", program_steps(family, "fp32")),)


BACKEND = Backend(name="torch_compile", missing=_missing, build=build, plans=_plans)
