"""Narrow a network: the channels with the smallest weights go, in every layer but the last."""

from typing import cast

import torch
from torch import Tensor, nn

from gantune.errors import UnsupportedError, UsageError
from gantune.networks.contract import Config, Network
from gantune.transforms.module_tree import NetworkT, copy_network

DEFAULT_SHARE = 0.25
# The families whose layers stand in a row, so that each can lose channels for itself.
CHAINS = ("dcgan", "srvgg")
_PER_CHANNEL = ("weight", "bias", "running_mean", "running_var")


def prune(network: NetworkT, share: float = DEFAULT_SHARE) -> NetworkT:
    """Return a copy without the `share` of each layer's channels whose weights are smallest; not exact.

    A channel's size is the sum of its filter's absolute weights, times what a normalization after it scales
    them by. Nothing is trained back, so the pictures suffer; whether they may is for a gate to say. Raise
    `UnsupportedError` for a network that is no plain chain of convolutions, `UsageError` for a share that is
    not between 0 and 1. Source: Li et al., Pruning Filters for Efficient ConvNets, arXiv 1608.08710.
    """
    if not 0 < share < 1:
        raise UsageError(f"The share of channels to prune is {share:g}; it must lie between 0 and 1.")
    assert isinstance(network, Network)
    assert isinstance(network, nn.Module)
    state = dict(network.state_dict())
    kept: Tensor | None = None
    links = _list_links(network)
    for name, follower in links:
        out_axis = 1 if isinstance(network.get_submodule(name), nn.ConvTranspose2d) else 0
        weight = state[f"{name}.weight"]
        if kept is not None:
            weight = weight.index_select(1 - out_axis, kept)
        if name != links[-1][0]:
            kept = _choose_channels(weight, out_axis, network.get_submodule(follower), share)
            weight = weight.index_select(out_axis, kept)
            for key in (f"{name}.bias", *(f"{follower}.{part}" for part in _PER_CHANNEL)):
                if key in state and state[key].dim() == 1 and len(state[key]) > 1:
                    state[key] = state[key][kept]
        state[f"{name}.weight"] = weight
    narrowed = type(network)(**_narrow(network, share))
    narrowed.load_state_dict(state)
    return cast(NetworkT, copy_network(narrowed))


def count_kept(width: int, share: float) -> int:
    """Give how many of `width` channels stay, at least one."""
    return max(1, width - int(width * share))


def _choose_channels(weight: Tensor, out_axis: int, follower: nn.Module, share: float) -> Tensor:
    """Choose the channels to keep, in their order."""
    sizes = weight.abs().transpose(0, out_axis).flatten(1).sum(1)
    if isinstance(follower, nn.BatchNorm2d) and follower.running_var is not None:
        sizes = sizes * (follower.running_var + follower.eps).rsqrt()
        sizes = sizes if follower.weight is None else sizes * follower.weight.detach().abs()
    return torch.sort(sizes.topk(count_kept(len(sizes), share)).indices).values


def _list_links(network: Network) -> list[tuple[str, str]]:
    """List the convolutions in order, each with the name of what follows it channel by channel."""
    if network.family == "srvgg":
        layers = cast(nn.ModuleList, cast(nn.Module, network).body)
        return [(f"body.{index}", f"body.{index + 1}") for index in range(0, len(layers), 2)]
    if network.family == "dcgan":
        layers = cast(nn.ModuleList, cast(nn.Module, network).layers)
        return [(f"layers.{index}.conv", f"layers.{index}.norm") for index in range(len(layers))]
    raise UnsupportedError(
        f"A {network.family} generator cannot be pruned: its layers meet in sums, so channels cannot go one "
        f"layer at a time. Generators of {' and '.join(CHAINS)} can."
    )


def _narrow(network: Network, share: float) -> Config:
    """Write the options of the narrower network."""
    if network.family == "srvgg":
        return network.config | {"num_feat": count_kept(cast(int, network.config["num_feat"]), share)}
    *layers, last = cast(list[dict[str, object]], network.config["layers"])
    narrowed = [layer | {"width": count_kept(cast(int, layer["width"]), share)} for layer in layers]
    return network.config | {"layers": [*narrowed, last]}
