"""Read CycleGAN and pix2pix ResNet generators: state dicts under the published names."""

import re

from torch import Tensor

from gantune.checkpoints.checkpoint_file import CheckpointFile
from gantune.checkpoints.content import CheckpointContent, Format, NetworkContent
from gantune.checkpoints.state_dict import find_state_dict, require_weight
from gantune.errors import CheckpointError
from gantune.networks.contract import Config

_WRAPPERS = (
    "netG_A2B",
    "netG_A",
    "G_A2B",
    "G_A",
    "netG",
    "generator",
    "G",
    "state_dict",
    "model_state_dict",
)
# A block's inner Sequential is `conv_block` in the published code; others call it `block`.
_BLOCK = re.compile(r"model\.(\d{1,3})\.(conv_block|block)\.(\d{1,2})\.(\w+)$")
_PLAIN = re.compile(r"model\.(\d{1,3})\.(\w+)$")
_FIRST_CONVOLUTION, _FIRST_DOWN, _LAYERS_A_STEP = 1, 4, 3
# Where a block's second convolution stands, with and without a dropout before it.
_SECOND_WITH_DROPOUT, _SECOND_PLAIN = 6, 5
_STATISTICS = ("running_mean", "running_var", "num_batches_tracked")


def _find_state(file: CheckpointFile) -> dict[str, Tensor] | None:
    state = None if file.container != "torch" else find_state_dict(file.payload, _WRAPPERS)
    if state is None or f"model.{_FIRST_CONVOLUTION}.weight" not in state:
        return None
    has_blocks = any(_BLOCK.match(name) for name in state)
    return state if has_blocks and all(_BLOCK.match(name) or _PLAIN.match(name) for name in state) else None


def _recognizes(file: CheckpointFile) -> bool:
    return _find_state(file) is not None


def infer_cyclegan_config(state: dict[str, Tensor], where: str) -> Config:
    """Infer the configuration from names and shapes; raise `CheckpointError` where none fits."""
    blocks = sorted({int(match[1]) for name in state if (match := _BLOCK.match(name))})
    num_downs, rest = divmod(blocks[0] - _FIRST_DOWN, _LAYERS_A_STEP)
    if rest or num_downs < 0 or blocks != list(range(blocks[0], blocks[0] + len(blocks))):
        places = ", ".join(map(str, blocks))
        raise CheckpointError(
            f"{where} is no CycleGAN generator: its blocks stand at {places}; they follow each other from "
            f"{_FIRST_DOWN} on, plus {_LAYERS_A_STEP} for each step down."
        )
    last = max(int(match[1]) for name in state if (match := _PLAIN.match(name)))
    first_weight = require_weight(state, f"model.{_FIRST_CONVOLUTION}.weight", 4, where)
    last_weight = require_weight(state, f"model.{last}.weight", 4, where)
    inner = {int(match[3]) for name in state if (match := _BLOCK.match(name))}
    has_scale = f"model.{_FIRST_CONVOLUTION + 1}.weight" in state
    has_statistics = f"model.{_FIRST_CONVOLUTION + 1}.running_mean" in state
    norm = "instance_affine" if has_scale else "instance"
    return {
        "img_channels": first_weight.shape[1],
        "out_channels": last_weight.shape[0],
        "num_feat": first_weight.shape[0],
        "num_block": len(blocks),
        "num_downsamplings": num_downs,
        "norm": "batch" if has_scale and has_statistics else norm,
        "dropout": _SECOND_WITH_DROPOUT in inner and _SECOND_PLAIN not in inner,
    }


def _rename(state: dict[str, Tensor], *, norm: object) -> dict[str, Tensor]:
    """Give blocks the published name, and drop the statistics that old instance norms carried unused."""
    return {
        _BLOCK.sub(r"model.\1.conv_block.\3.\4", name): tensor
        for name, tensor in state.items()
        if norm == "batch" or not name.endswith(_STATISTICS)
    }


def _read(file: CheckpointFile) -> CheckpointContent:
    state = _find_state(file)
    assert state is not None
    config = infer_cyclegan_config(state, str(file.path))
    network = NetworkContent("cyclegan", config, _rename(state, norm=config["norm"]))
    assumptions = [
        "borders are reflected and the last activation is tanh, as published: a state dict holds neither"
    ]
    return CheckpointContent(
        format=FORMAT.name, networks={"generator": network}, metadata={"assumptions": assumptions}
    )


FORMAT = Format(
    name="cyclegan",
    description="CycleGAN and pix2pix ResNet generators (state dicts, bare or as `netG` and the like)",
    recognizes=_recognizes,
    read=_read,
)
