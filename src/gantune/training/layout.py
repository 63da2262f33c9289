"""Keep feature maps channels-last: convolutions then skip turning them around."""

import torch
from torch import Tensor, nn

from gantune.networks.biggan import BigGANBlock
from gantune.networks.dcgan import DCGANLayer
from gantune.networks.stylegan2_synthesis import ModulatedLayer
from gantune.networks.stylegan3_synthesis import AliasFreeLayer

_FIRST_LAYERS = (ModulatedLayer, AliasFreeLayer, BigGANBlock, DCGANLayer)


def keep_channels_last(network: nn.Module) -> None:
    """Store weights channels-last and turn each feature map around where it enters the network, in place."""
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    entrances: list[nn.Module] = [item for item in network.modules() if isinstance(item, _FIRST_LAYERS)]
    for module in entrances[:1] or [network]:  # a discriminator takes images itself
        module.register_forward_pre_hook(_turn_first)


def _turn_first(module: nn.Module, arguments: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    first, *rest = arguments
    return (first.contiguous(memory_format=torch.channels_last), *rest)
