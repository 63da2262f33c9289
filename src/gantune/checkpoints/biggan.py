"""Read BigGAN and BigGAN-deep generators in ajbrock's form: a bare state dict of the generator."""

import re
from math import isqrt

from torch import Tensor

from gantune.checkpoints.checkpoint_file import CheckpointFile
from gantune.checkpoints.content import CheckpointContent, Format, NetworkContent
from gantune.checkpoints.state_dict import find_state_dict, require_weight
from gantune.errors import CheckpointError
from gantune.networks.contract import Config

_WRAPPERS = ("G_ema", "G", "state_dict")
_STATISTICS = (
    "stored_mean and stored_var of the file: running averages, unless its author replaced them by standing "
    "statistics, which hold for the truncation they were gathered at"
)


def infer_biggan_config(state: dict[str, Tensor], where: str) -> tuple[str, Config]:
    """Infer the family (biggan or biggan_deep) and its configuration from the shapes.

    The depth of BigGAN-deep (blocks a resolution) does not show in every network: 2, as published, is taken
    where the widths allow it. Raise `CheckpointError` where the shapes fit neither family.
    """
    is_deep = "blocks.0.0.conv4.weight" in state
    widths = _read_widths(state, "conv4" if is_deep else "conv2", where)
    num_classes, shared_dim = require_weight(state, "shared.weight", 2, where).shape
    num_features, first_dim = require_weight(state, "linear.weight", 2, where).shape
    condition_dim = require_weight(state, "blocks.0.0.bn1.gain.weight", 2, where).shape[1]
    config: Config = {
        "widths": widths,
        "attention_blocks": sorted(
            int(match[1]) for name in state if (match := re.match(r"blocks\.(\d{1,4})\.1\.gamma$", name))
        ),
        "num_classes": num_classes,
        "shared_dim": shared_dim,
        "hierarchical": condition_dim != shared_dim,
        "bottom_width": _infer_bottom_width(num_features, widths[0], where),
        "img_channels": require_weight(state, "output_layer.2.weight", 4, where).shape[0],
    }
    latent_in_block = condition_dim - shared_dim
    if not is_deep:
        _check_latent(latent_in_block, first_dim, where)
        config["z_dim"] = first_dim * (len(widths) if latent_in_block else 1)
        return "biggan", config
    config["z_dim"] = latent_in_block or first_dim
    _check_latent(latent_in_block, first_dim - shared_dim, where)
    config["bottleneck"] = widths[0] // state["blocks.0.0.conv1.weight"].shape[0]
    config["depth"] = _infer_depth(widths)
    return "biggan_deep", config


def _read_widths(state: dict[str, Tensor], last_conv: str, where: str) -> list[int]:
    num_blocks = len({name.split(".")[1] for name in state if name.startswith("blocks.")})
    widths: list[int] = []
    for block in range(num_blocks):
        first, last = (
            require_weight(state, f"blocks.{block}.0.{conv}.weight", 4, where)
            for conv in ("conv1", last_conv)
        )
        widths = widths or [first.shape[1]]
        widths.append(last.shape[0])
    return widths


def _infer_bottom_width(num_features: int, width: int, where: str) -> int:
    side = isqrt(num_features // width)
    if side < 1 or side**2 * width != num_features:
        raise CheckpointError(
            f"{where}: linear gives {num_features} features, which must be {width} channels times a square."
        )
    return side


def _check_latent(latent_in_block: int, latent_in_first: int, where: str) -> None:
    if latent_in_block not in (0, latent_in_first):
        raise CheckpointError(
            f"{where}: the blocks see {latent_in_block} latent values and the first layer {latent_in_first}; "
            "they must agree, or the blocks see none."
        )


def _infer_depth(widths: list[int]) -> int:
    num_blocks = len(widths) - 1
    changes = [block for block in range(num_blocks) if widths[block] != widths[block + 1]]
    fitting = [
        depth
        for depth in range(1, num_blocks + 1)
        if num_blocks % depth == 0 and all((block + 1) % depth == 0 for block in changes)
    ]
    return 2 if 2 in fitting else fitting[-1]


def _recognizes(file: CheckpointFile) -> bool:
    if file.container != "torch":
        return False
    state = find_state_dict(file.payload, _WRAPPERS)
    return state is not None and "blocks.0.0.bn1.stored_mean" in state and "output_layer.2.weight" in state


def _read(file: CheckpointFile) -> CheckpointContent:
    state = find_state_dict(file.payload, _WRAPPERS)
    assert state is not None
    family, config = infer_biggan_config(state, str(file.path))
    metadata: dict[str, object] = {
        "batch_norm_statistics": _STATISTICS,
        "class_embedding": "applied by the network: give class indices or one-hot classes",
    }
    if family == "biggan_deep":
        metadata["assumptions"] = [f"{config['depth']} blocks a resolution"]
    network = NetworkContent(family, config, state)
    return CheckpointContent(format=FORMAT.name, networks={"generator": network}, metadata=metadata)


FORMAT = Format(
    name="biggan",
    description="BigGAN and BigGAN-deep generators (ajbrock's state dicts)",
    recognizes=_recognizes,
    read=_read,
)
