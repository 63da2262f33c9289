"""Torch itself, running an exported program operation by operation; it may hold gantune's own operators."""

from pathlib import Path

from torch import nn

from gantune.backends.backend import Backend, BuildOptions, Plan
from gantune.backends.program_file import build_program_artifact
from gantune.backends.steps import fused_steps, program_steps
from gantune.networks.contract import Network
from gantune.ops import styled_convolution
from gantune.ops.choose import Fallback, record_fallback
from gantune.records.artifact import Artifact

# No 3×3 convolution of stride 1, so nothing for the native convolution to compute.
UNFUSED_FAMILIES = frozenset({"dcgan"})


def build(network: Network | nn.Module, out_dir: Path, options: BuildOptions) -> Artifact:
    """Build an artifact that torch runs as it stands; where the kernels are missing, that is recorded."""
    missing = styled_convolution.missing()
    if missing is not None and getattr(network, "family", "") not in UNFUSED_FAMILIES:
        record_fallback(Fallback("styled_convolution", "native", "portable", missing))
    return build_program_artifact(network, out_dir, options, engine="torch")


def _missing() -> str | None:
    return None


def _plans(family: str) -> tuple[Plan, ...]:
    if styled_convolution.missing() is None and family not in UNFUSED_FAMILIES:
        return (
            Plan("torch-fused-bf16-large", "bf16", fused_steps(family, "bf16_large")),
            Plan("torch-fused-bf16", "bf16", fused_steps(family, "bf16")),
            Plan("torch-fused-fp32", "fp32", fused_steps(family, "fp32")),
        )
    return tuple(
        Plan(f"torch-{precision}", precision, program_steps(family, precision))
        for precision in ("bf16", "fp32")
    )


BACKEND = Backend(name="torch", missing=_missing, build=build, plans=_plans)
