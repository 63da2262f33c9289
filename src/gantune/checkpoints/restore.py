"""Build a network from what a checkpoint holds, after checking that the two fit."""

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from gantune.checkpoints.content import NetworkContent, Role
from gantune.errors import CheckpointError, UnsupportedError, UsageError
from gantune.networks.catalogue import build_network, find_family
from gantune.networks.contract import Config

_DERIVED = ("resample_filter", "up_filter", "down_filter")
"""Buffers that follow from the configuration, which some code bases leave out or store twice."""

_MAX_NUMBER = 2**24
_MAX_COUNT = 1024
_COUNTS = ("num_", "filter_size", "lrelu_upsampling", "margin_size", "conv_kernel", "kernel_size")
_MAX_SHOWN = 3


def restore_network(content: NetworkContent, role: Role) -> nn.Module:
    """Return the network with its weights: eval mode, float32, on the CPU.

    Raises `CheckpointError` where names or shapes of the weights are not those of the configuration, or a
    weight is NaN or infinite. Nothing large is built before they are compared.
    """
    kind = "discriminator" if role == "discriminator" else "generator"
    _check_numbers(content.config, "the configuration")
    state = _float_state(content.state)
    try:
        expected = _expected_shapes(content, kind)
        state = _matched_state(state, expected)
        network = build_network(content.family, content.config, role=kind)  # type: ignore[arg-type]
    except (UsageError, UnsupportedError) as error:
        raise CheckpointError(f"The checkpoint describes a network gantune cannot build: {error}") from error
    network.load_state_dict(state, strict=False)
    return network


def _expected_shapes(content: NetworkContent, kind: str) -> dict[str, tuple[int, ...]]:
    """Return the shapes of a network's weights without allocating them: a hostile configuration costs
    nothing.
    """
    family = find_family(content.family)
    build = family.discriminator if kind == "discriminator" else family.generator
    if build is None:
        raise CheckpointError(f"gantune has no discriminator of the family {content.family}.")
    with torch.device("meta"):
        try:
            network = build(**content.config)
        except (TypeError, ValueError, ArithmeticError, RuntimeError) as error:
            raise CheckpointError(f"The checkpoint describes an impossible network: {error}") from error
    return {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}


def _matched_state(state: dict[str, Tensor], expected: Mapping[str, tuple[int, ...]]) -> dict[str, Tensor]:
    def is_derived(name: str) -> bool:
        return name.rpartition(".")[2] in _DERIVED

    missing = [name for name in expected if name not in state and not is_derived(name)]
    extra = [name for name in state if name not in expected and not is_derived(name)]
    if missing or extra:
        raise CheckpointError(
            f"The weights do not fit the configuration: {_shown(missing)} missing, {_shown(extra)} left over."
        )
    matched = {name: tensor for name, tensor in state.items() if name in expected}
    for name, tensor in matched.items():
        if tuple(tensor.shape) != expected[name]:
            raise CheckpointError(
                f"The weight {name!r} has the shape {list(tensor.shape)}; its configuration asks for "
                f"{list(expected[name])}."
            )
    return matched


def _shown(names: list[str]) -> str:
    shown = ", ".join(names[:_MAX_SHOWN]) or "none"
    return f"{shown} and {len(names) - _MAX_SHOWN} more" if len(names) > _MAX_SHOWN else shown


def _float_state(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights in float32; raise `CheckpointError` for NaN, infinity, or one storage claimed too
    often.
    """
    storages = {
        tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes() for tensor in state.values()
    }
    claimed = sum(tensor.numel() for tensor in state.values())
    if claimed > 4 * sum(storages.values()) + 2**20:
        raise CheckpointError("The weights refer to the same few numbers over and over: the file is hostile.")
    floats: dict[str, Tensor] = {}
    for name, tensor in state.items():
        if not tensor.is_floating_point():
            floats[name] = tensor
            continue
        # An overflow of float64 weights shows up here too.
        floats[name] = tensor.float()
        if not bool(torch.isfinite(floats[name]).all()):
            bad = int((~torch.isfinite(floats[name])).sum())
            raise CheckpointError(
                f"The weight {name!r} has {bad} of {tensor.numel()} values that are NaN or infinite; "
                "use an earlier checkpoint of the training."
            )
    return floats


def _check_numbers(value: object, key: str) -> None:
    """Refuse a configuration whose numbers no network has, before loops or tables are made from them."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            _check_numbers(item, str(name))
    elif isinstance(value, list | tuple):
        for item in value:
            _check_numbers(item, key)
    elif isinstance(value, bool) or not isinstance(value, int | float):
        return
    elif not math.isfinite(value) or not 0 <= abs(value) <= (
        _MAX_COUNT if key.startswith(_COUNTS) else _MAX_NUMBER
    ):
        raise CheckpointError(
            f"The checkpoint claims {key} = {value}, which no network has: damaged or hostile."
        )


def network_config(network: nn.Module) -> Config:
    """Return the configuration a network states about itself."""
    config = network.config
    assert isinstance(config, dict), "Network.config is a dictionary"
    return config
