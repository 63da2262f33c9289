"""Official-size networks with random weights, kept as checkpoints so that every process loads the same."""

from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import nn

from gantune.checkpoints.content import CheckpointContent, NetworkContent
from gantune.checkpoints.safetensors_file import write_safetensors
from gantune.networks.catalogue import build_network
from gantune.networks.stylegan3 import StyleGAN3Generator, calibrate_magnitudes

STYLEGAN2: dict[str, object] = {"z_dim": 512, "c_dim": 0, "w_dim": 512, "img_channels": 3}
STYLEGAN3: dict[str, object] = STYLEGAN2 | {"mapping_kwargs": {"num_layers": 2}}


@dataclass(frozen=True)
class Official:
    """A network as its authors sized it."""

    name: str
    family: str
    config: dict[str, object] = field(hash=False)


OFFICIAL = (
    Official(
        "stylegan2-256",
        "stylegan2",
        STYLEGAN2 | {"img_resolution": 256, "channel_base": 16384, "channel_max": 512},
    ),
    Official(
        "stylegan2-1024",
        "stylegan2",
        STYLEGAN2 | {"img_resolution": 1024, "channel_base": 32768, "channel_max": 512},
    ),
    Official(
        "stylegan3-t-256",
        "stylegan3",
        STYLEGAN3 | {"img_resolution": 256, "channel_base": 16384, "channel_max": 512},
    ),
)


def write_official(official: Official, folder: Path, *, seed: int = 0) -> Path:
    """Write the network's checkpoint once, with noise strengths and biases too, so that parity sees them."""
    path = folder / f"{official.name}.safetensors"
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = build_network(official.family, dict(official.config))
        randomize_trained_values(network)
    if isinstance(network, StyleGAN3Generator):
        calibrate_magnitudes(network, seed)
    content = NetworkContent(official.family, dict(official.config), dict(network.state_dict()))
    write_safetensors(CheckpointContent("random weights", {"generator": content}), path)
    return path


@torch.no_grad()
def randomize_trained_values(network: nn.Module) -> None:
    """Draw what training moves away from zero: noise strengths, biases and the average w."""
    for name, parameter in network.named_parameters():
        if name.endswith("noise_strength"):
            parameter.fill_(0.1)
        elif name.endswith("bias") and "affine" not in name:
            parameter.normal_(0, 0.1)
    for name, buffer in network.named_buffers():
        if name.endswith("w_avg"):
            buffer.normal_(0, 0.1)
