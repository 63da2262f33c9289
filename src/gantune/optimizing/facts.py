"""What a network is: the facts a person asks for first."""

import hashlib
from pathlib import Path

import torch
from torch import nn

from gantune.checkpoints import Checkpoint
from gantune.measuring.macs import count_macs
from gantune.networks.contract import Network, sample_tensors
from gantune.records.plan import Plan
from gantune.records.report import NetworkSummary

_FACT_NAMES = ("resolution", "img_channels", "z_dim", "c_dim", "w_dim", "num_ws", "scale", "num_fp16_res")
Fact = str | int | float | bool | None


def collect_facts(network: nn.Module) -> dict[str, Fact]:
    """Collect what a family states of itself: resolution, sizes of latent, class and style inputs."""
    assert isinstance(network, Network)
    found = {name: getattr(network, name, network.config.get(name)) for name in _FACT_NAMES}
    sizes = {name: value for name, value in found.items() if isinstance(value, (str, int, float, bool))}
    return {"family": network.family, **sizes}


def summarize_network(checkpoint: Checkpoint, path: Path, plan: Plan) -> NetworkSummary:
    """Summarize the network that was brought; MACs are of one sample at the plan's image size."""
    network = checkpoint.generator
    num_parameters, macs = count_network(network, image_size=plan.image_size)
    return NetworkSummary(
        source=path.name,
        source_sha256=plan.source_sha256,
        format=checkpoint.format,
        family=plan.family,
        facts=collect_facts(network),
        num_parameters=num_parameters,
        macs=macs,
        float32_bytes=4 * num_parameters,
    )


def count_network(network: nn.Module, *, image_size: int) -> tuple[int, int]:
    """Count the parameters, and the multiply-accumulates for one sample."""
    assert isinstance(network, Network)
    inputs = sample_tensors(network.inputs, 1, 0, image_size=image_size)
    with torch.inference_mode():
        counted = count_macs(network, inputs)
    return sum(parameter.numel() for parameter in network.parameters()), counted.macs


def hash_file(path: Path) -> str:
    """Give a file's SHA-256, read in pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
