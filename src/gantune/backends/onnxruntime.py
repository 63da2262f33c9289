"""ONNX Runtime on the CPU: float32, runs everywhere ONNX does."""

from importlib.util import find_spec
from pathlib import Path

from torch import nn

from gantune.backends.backend import Backend, BuildOptions, Plan
from gantune.backends.onnx_file import build_onnx_artifact
from gantune.backends.steps import constant_weights
from gantune.errors import UnsupportedError
from gantune.networks.contract import Network
from gantune.records.artifact import Artifact


def build(network: Network | nn.Module, out_dir: Path, options: BuildOptions) -> Artifact:
    """Build an artifact; ONNX Runtime has no bfloat16 convolution on a CPU: `UnsupportedError`."""
    if options.precision not in ("fp32", "int8"):
        raise UnsupportedError(
            f"ONNX Runtime on a CPU computes in fp32 or int8, not {options.precision}; "
            "use openvino or torch for bf16."
        )
    return build_onnx_artifact(network, out_dir, options, engine="onnxruntime")


def _missing() -> str | None:
    return None if find_spec("onnxruntime") else "onnxruntime is not installed: pip install onnxruntime"


def _plans(family: str) -> tuple[Plan, ...]:
    forms = ("transposed", "subpixel") if family == "stylegan2" else ("transposed",)
    return tuple(Plan(f"onnxruntime-fp32-{form}", "fp32", constant_weights(family, form)) for form in forms)


BACKEND = Backend(name="onnxruntime", missing=_missing, build=build, plans=_plans)
