"""The plain way: the reference form traced to ONNX at batch 1, for the engines to do what they can with."""

from pathlib import Path

import torch
from torch import Tensor, nn

from gantune.checkpoints import load
from gantune.networks.contract import Network
from gantune.ops import use_implementation
from gantune.records.artifact import Artifact, Engine, Precision
from gantune.runtime.artifact_files import describe_files, write_artifact

OPSET = 20


class _OneLatent(nn.Module):
    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor) -> Tensor:
        return self.network(x)


def export_plainly(
    checkpoint: Path, folder: Path, *, engine: Engine, precision: Precision, size: int
) -> Path:
    """Write an artifact folder around the plain ONNX file; it takes batch 1 only."""
    if (folder / "artifact.json").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    network = load(checkpoint)
    assert isinstance(network, Network)
    spec = network.inputs[0]
    example = torch.zeros([1, *(size if isinstance(side, str) else side for side in spec.shape[1:])])
    with use_implementation("reference"), torch.no_grad():
        torch.onnx.export(
            _OneLatent(network).eval(), (example,), folder / "network.onnx", dynamo=True, opset_version=OPSET,
            input_names=[spec.name], output_names=["output"], external_data=False,
        )  # fmt: skip
    artifact = Artifact(
        gantune_version="plain",
        family=network.family,
        engine=engine,
        precision=precision,
        inputs=(spec,),
        output=network.output,
        entry="network.onnx",
        files=describe_files(folder, ["network.onnx"]),
    )
    write_artifact(artifact, folder)
    return folder
