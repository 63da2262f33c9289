"""OpenVINO on the CPU: fuses the most; fp32 or bf16, always told explicitly."""

from importlib.util import find_spec
from pathlib import Path

from torch import nn

from gantune.backends.backend import Backend, BuildOptions, Plan
from gantune.backends.onnx_file import build_onnx_artifact
from gantune.backends.steps import constant_weights
from gantune.errors import UnavailableError
from gantune.networks.contract import Network
from gantune.records.artifact import Artifact


def build(network: Network | nn.Module, out_dir: Path, options: BuildOptions) -> Artifact:
    """Build an artifact; the graph stays float32, and `precision` is the hint given to OpenVINO."""
    missing = _missing()
    if missing:
        raise UnavailableError(missing)
    return build_onnx_artifact(network, out_dir, options, engine="openvino")


def _missing() -> str | None:
    return None if find_spec("openvino") else "openvino is not installed: pip install 'gantune[openvino]'"


def _plans(family: str) -> tuple[Plan, ...]:
    steps = constant_weights(family, "transposed")
    return (Plan("openvino-bf16", "bf16", steps), Plan("openvino-fp32", "fp32", steps))


BACKEND = Backend(name="openvino", missing=_missing, build=build, plans=_plans)
