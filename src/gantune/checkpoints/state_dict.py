"""Find a network's state dict in what a torch file holds, whichever of the usual names it stands under."""

from collections.abc import Mapping, Sequence

from torch import Tensor

from gantune.errors import CheckpointError


def find_state_dict(payload: object, wrappers: Sequence[str]) -> dict[str, Tensor] | None:
    """Return the state dict that `payload` is, or the first one it holds under one of the names `wrappers`.

    Half-precision weights become float32, and the `module.` that data-parallel training puts before every
    name is taken away. None where there is no state dict.
    """
    state = _read_state_dict(payload)
    if state is not None or not isinstance(payload, Mapping):
        return state
    for name in wrappers:
        state = _read_state_dict(payload.get(name))
        if state is not None:
            return state
    return None


def require_weight(state: Mapping[str, Tensor], name: str, rank: int, where: str) -> Tensor:
    """Return the weight called `name`; raise `CheckpointError` where it is missing or has another rank."""
    weight = state.get(name)
    if weight is None:
        raise CheckpointError(f"{where}: the weight {name} is missing; the state dict is not complete.")
    if weight.dim() != rank:
        raise CheckpointError(
            f"{where}: {name} has shape {tuple(weight.shape)}; {rank} sizes must stand there."
        )
    return weight


def _read_state_dict(value: object) -> dict[str, Tensor] | None:
    if not isinstance(value, Mapping) or not value:
        return None
    state: dict[str, Tensor] = {}
    for name, tensor in value.items():
        if not isinstance(name, str) or not isinstance(tensor, Tensor) or tensor.numel() == 0:
            return None
        state[name] = tensor.float() if tensor.is_floating_point() else tensor
    if all(name.startswith("module.") for name in state):
        return {name.removeprefix("module."): tensor for name, tensor in state.items()}
    return state
