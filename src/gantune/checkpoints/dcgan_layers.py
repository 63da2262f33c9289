"""Infer the layers of a DCGAN generator from the names and shapes of a state dict."""

import re
from dataclasses import dataclass, field
from itertools import pairwise

from torch import Tensor

from gantune.errors import CheckpointError

MAX_IMG_CHANNELS = 4
# The rate of a dropout is not in a checkpoint; this is torch's default, and it acts in training only.
DROPOUT_RATE = 0.5
_POSITION = re.compile(r"[0-9]{1,4}$")


@dataclass(frozen=True)
class StoredLayers:
    """Hold the prefixes of a state dict's modules by kind, in order, and the tensors by prefix and name."""

    tensors: dict[str, dict[str, Tensor]]
    convolutions: list[str] = field(default_factory=list)
    norms: list[str] = field(default_factory=list)
    embeddings: list[str] = field(default_factory=list)


def sort_layers(state: dict[str, Tensor]) -> StoredLayers | None:
    """Sort the modules into convolutions, batch norms and embeddings; None if there is another."""
    tensors: dict[str, dict[str, Tensor]] = {}
    for name, tensor in state.items():
        prefix, _, kind = name.rpartition(".")
        tensors.setdefault(prefix, {})[kind] = tensor
    layers = StoredLayers(tensors)
    for prefix, own in tensors.items():
        weight = own.get("weight")
        if "running_mean" in own:
            layers.norms.append(prefix)
        elif weight is not None and weight.dim() == 4 and set(own) <= {"weight", "bias"}:
            layers.convolutions.append(prefix)
        elif weight is not None and weight.dim() == 2 and set(own) == {"weight"}:
            layers.embeddings.append(prefix)
        else:
            return None
    return layers


def is_chain(layers: StoredLayers) -> bool:
    """Tell whether the convolutions lead from a latent to an image, each to the next."""
    if len(layers.convolutions) < 3 or len(layers.embeddings) > 1:
        return False
    weights = [layers.tensors[prefix]["weight"] for prefix in layers.convolutions]
    width = weights[0].shape[1]
    for weight in weights[1:]:
        if width not in weight.shape[:2]:
            return False
        width = weight.shape[1] if weight.shape[0] == width else weight.shape[0]
    return bool(layers.norms) and min(weights[-1].shape[:2]) <= MAX_IMG_CHANNELS


def match_norms(layers: StoredLayers, where: str) -> dict[str, str]:
    """Return the batch norm that follows each convolution that has one.

    A norm belongs to the convolution before it in the file or, where all convolutions stand before all norms,
    to the one of its rank. Raise `CheckpointError` where the widths contradict both.
    """
    order = [prefix for prefix in layers.tensors if prefix not in layers.embeddings]
    by_place = {order[order.index(norm) - 1]: norm for norm in layers.norms if order.index(norm) > 0}
    by_rank = dict(zip(layers.convolutions, layers.norms, strict=False))
    for candidate in (by_place, by_rank):
        if len(candidate) == len(layers.norms) and all(
            conv in layers.convolutions and _width_out_is(layers, conv, norm)
            for conv, norm in candidate.items()
        ):
            return candidate
    raise CheckpointError(
        f"{where}: the batch norms {', '.join(layers.norms)} do not fit behind the convolutions "
        f"{', '.join(layers.convolutions)}; a DCGAN normalizes what a convolution gives."
    )


def infer_layers(layers: StoredLayers, norms: dict[str, str], where: str) -> list[dict[str, object]]:
    """Return the keywords of `DCGANLayerOptions` a layer; raise `CheckpointError` for an unclear one."""
    found: list[dict[str, object]] = []
    width = layers.tensors[layers.convolutions[0]]["weight"].shape[0]
    dropouts = _find_dropouts(layers, norms, where)
    for position, prefix in enumerate(layers.convolutions):
        own = layers.tensors[prefix]
        geometry = _infer_geometry(own["weight"], width, f"{where}: {prefix}", is_first=position == 0)
        width = own["weight"].shape[1 if geometry["transposed"] else 0]
        found.append(
            {
                "width": width,
                **geometry,
                "bias": "bias" in own,
                "norm": prefix in norms,
                "dropout": DROPOUT_RATE if prefix in dropouts else 0.0,
            }
        )
    return found


def _width_out_is(layers: StoredLayers, conv: str, norm: str) -> bool:
    width = layers.tensors[norm]["running_mean"].shape[0]
    return width in layers.tensors[conv]["weight"].shape[:2]


def _infer_geometry(weight: Tensor, width: int, what: str, *, is_first: bool) -> dict[str, object]:
    """Infer stride and padding: the first layer makes k × k, transposed ones double, plain ones keep."""
    kernel = weight.shape[2]
    shape = tuple(weight.shape)
    if weight.shape[2] != weight.shape[3]:
        raise CheckpointError(f"{what} has shape {shape}; kernels must be square.")
    plain = {"kernel": kernel, "stride": 1, "padding": 0, "output_padding": 0}
    if is_first:
        return {**plain, "transposed": True}
    fits_transposed, fits_plain = shape[0] == width, shape[1] == width
    if fits_transposed and kernel % 2 == 0:
        return {**plain, "stride": 2, "padding": kernel // 2 - 1, "transposed": True}
    if fits_transposed and not fits_plain and kernel >= 5:
        return {**plain, "stride": 2, "padding": kernel // 2, "output_padding": 1, "transposed": True}
    if fits_plain and not fits_transposed and kernel % 2 == 1:
        return {**plain, "padding": kernel // 2, "transposed": False}
    raise CheckpointError(
        f"{what} has shape {shape} after {width} channels; its stride cannot be told. Readable are "
        "transposed convolutions of kernel 2, 4, 5, 6 (stride 2) and plain ones of odd kernel that change "
        "the width."
    )


def _find_dropouts(layers: StoredLayers, norms: dict[str, str], where: str) -> set[str]:
    """Find the layers of a Sequential that a module without weights follows, beside the activation."""
    found: set[str] = set()
    for prefix, following in pairwise(layers.convolutions):
        parent, _, index = prefix.rpartition(".")
        next_parent, _, next_index = following.rpartition(".")
        if parent != next_parent or not (_POSITION.match(index) and _POSITION.match(next_index)):
            continue
        modules = int(next_index) - int(index) - 1
        expected = 2 if prefix in norms else 1
        if modules not in (expected, expected + 1):
            raise CheckpointError(
                f"{where}: {modules} modules stand between {prefix} and {following}; a DCGAN has {expected} "
                "(normalization where stored, activation), or one more, a dropout."
            )
        if modules > expected:
            found.add(prefix)
    return found
