"""Networks that the tests of transforms, exporting and backends run over, and the bound of exactness."""

from functools import cache

import torch
from torch import Tensor, nn

from gantune.networks.catalogue import build_network
from gantune.transforms import freeze, static_modulation
from network_samples import SMALL_GENERATORS
from stylegan_golden import NAMES as STYLEGAN_NAMES
from stylegan_golden import load_golden

EXACT = 1e-4
SMALL_NAMES = tuple(SMALL_GENERATORS)


@cache
def build_small(family: str) -> nn.Module:
    """Build a small generator whose every constant differs from its neutral value."""
    torch.manual_seed(0)
    network = build_network(family, SMALL_GENERATORS[family])
    generator = torch.Generator().manual_seed(1)
    for name, tensor in network.state_dict().items():
        last = name.split(".")[-1]
        if last in ("bias", "gamma", "noise_strength", "stored_mean", "running_mean", "w_avg"):
            tensor.add_(torch.randn(tensor.shape, generator=generator) * 0.3)
        if last in ("magnitude_ema", "stored_var", "running_var", "gain"):
            tensor.mul_(torch.rand(tensor.shape, generator=generator) + 0.5)
    return network


@cache
def prepare(name: str) -> nn.Module:
    """Freeze a network (of `STYLEGAN_NAMES` or `SMALL_NAMES`) and make its weights constant."""
    network = original(name)
    return static_modulation(freeze(network)) if name.startswith("stylegan") else freeze(network)


def original(name: str) -> nn.Module:
    """Give the untouched network called `name`."""
    return load_golden(name).generator if name in STYLEGAN_NAMES else build_small(name)


def relative_error(found: Tensor, expected: Tensor) -> float:
    """Give max |a − b| / max(1, max |b|)."""
    assert found.shape == expected.shape
    return float((found.detach() - expected).abs().max() / max(1.0, float(expected.abs().max())))


def run(network: nn.Module, n: int = 3, seed: int = 4) -> Tensor:
    """Run a network on its own sample inputs."""
    with torch.inference_mode():
        result: Tensor = network(**network.sample_inputs(n, seed))
    return result
