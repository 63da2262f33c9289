"""Read ESRGAN and Real-ESRGAN torch files: RRDB under three generations of names, and SRVGG."""

import re
from math import isqrt

from torch import Tensor

from gantune.checkpoints.checkpoint_file import CheckpointFile
from gantune.checkpoints.content import CheckpointContent, Format, NetworkContent, Role
from gantune.checkpoints.state_dict import find_state_dict, require_weight
from gantune.errors import CheckpointError
from gantune.networks.contract import Config

_WRAPPERS = ("params_ema", "params", "state_dict", "model_state_dict", "model")
_SRVGG_NAMES = re.compile(r"body\.(\d{1,4})\.(?:weight|bias)$")
# The names of the first ESRGAN release, by position of its outer Sequential …
_FIRST_NAMES = re.compile(r"model\.(\d{1,4})\.(weight|bias)$")
_FIRST_BODY = re.compile(r"model\.1\.sub\.(\d+)\.RDB(\d)\.conv(\d)\.0\.(weight|bias)$")
_FIRST_BODY_END = re.compile(r"model\.1\.sub\.(\d+)\.(weight|bias)$")
# … and of its second one.
_SECOND_NAMES = (
    (r"^RRDB_trunk\.(\d+)\.RDB", r"body.\1.rdb"),
    (r"^trunk_conv\.", "conv_body."),
    (r"^upconv(\d+)\.", r"conv_up\1."),
    (r"^HRconv\.", "conv_hr."),
)


def infer_srvgg_config(state: dict[str, Tensor], where: str) -> Config:
    """Infer the SRVGG configuration from the shapes of `body.N`; raise `CheckpointError` where none fits.

    Networks without slopes are taken to use ReLU: their files do not tell it from a leaky one.
    """
    positions = sorted({int(match[1]) for name in state if (match := _SRVGG_NAMES.match(name))})
    first = require_weight(state, "body.0.weight", 4, where)
    last = require_weight(state, f"body.{positions[-1]}.weight", 4, where)
    if positions[-1] < 2 or positions[-1] % 2:
        raise CheckpointError(
            f"{where} is no SRVGG: it needs convolutions body.0 to body.{{2n}}, found {positions}."
        )
    upscale = isqrt(last.shape[0] // first.shape[1])
    if upscale**2 * first.shape[1] != last.shape[0]:
        raise CheckpointError(
            f"{where} is no SRVGG: body.{positions[-1]} gives {last.shape[0]} channels, and a pixel shuffle "
            f"needs {first.shape[1]} times a square."
        )
    return {
        "img_channels": first.shape[1],
        "num_feat": first.shape[0],
        "num_conv": positions[-1] // 2 - 1,
        "upscale": upscale,
        "activation": "prelu" if "body.1.weight" in state else "relu",
    }


def infer_rrdb_config(state: dict[str, Tensor], where: str) -> Config:
    """Infer the RRDB configuration from the shapes, by BasicSR's names; else raise `CheckpointError`."""
    first, dense, last = (
        require_weight(state, f"{name}.weight", 4, where)
        for name in ("conv_first", "body.0.rdb1.conv1", "conv_last")
    )
    unshuffle = isqrt(first.shape[1] // last.shape[0])
    if unshuffle**2 * last.shape[0] != first.shape[1]:
        raise CheckpointError(
            f"{where} is no RRDB: conv_first takes {first.shape[1]} channels; they must be the "
            f"{last.shape[0]} of the image times a square."
        )
    ups = {name.split(".")[0] for name in state if name.startswith("conv_up")}
    return {
        "img_channels": last.shape[0],
        "num_feat": first.shape[0],
        "num_block": len({name.split(".")[1] for name in state if name.startswith("body.")}),
        "num_grow_ch": dense.shape[0],
        "num_upsamplings": len(ups),
        "unshuffle": unshuffle,
    }


def rename_rrdb(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Give the weights of either ESRGAN release BasicSR's names; other names stay as they are."""
    if "model.0.weight" in state and "model.1.sub.0.RDB1.conv1.0.weight" in state:
        return {_rename_first(name, state): tensor for name, tensor in state.items()}
    renamed = {}
    for name, tensor in state.items():
        for pattern, replacement in _SECOND_NAMES:
            name = re.sub(pattern, replacement, name)
        renamed[name] = tensor
    return renamed


def _rename_first(name: str, state: dict[str, Tensor]) -> str:
    if match := _FIRST_BODY.match(name):
        block, dense, conv, kind = match.groups()
        return f"body.{block}.rdb{dense}.conv{conv}.{kind}"
    if match := _FIRST_BODY_END.match(name):
        return f"conv_body.{match[2]}"
    if match := _FIRST_NAMES.match(name):
        outer = sorted({int(found[1]) for other in state if (found := _FIRST_NAMES.match(other))})
        ups = [f"conv_up{step + 1}" for step in range(len(outer) - 3)]
        names = dict(zip(outer, ["conv_first", *ups, "conv_hr", "conv_last"], strict=True))
        return f"{names[int(match[1])]}.{match[2]}"
    return name


def _is_super_resolution(state: dict[str, Tensor] | None) -> bool:
    if state is None:
        return False
    is_rrdb = "body.0.rdb1.conv1.weight" in rename_rrdb(state)
    is_srvgg = "body.0.weight" in state and all(_SRVGG_NAMES.match(name) for name in state)
    return is_rrdb or is_srvgg


def _recognizes(file: CheckpointFile) -> bool:
    return file.container == "torch" and _is_super_resolution(find_state_dict(file.payload, _WRAPPERS))


def _read_network(payload: object, wrapper: str, where: str) -> NetworkContent | None:
    state = find_state_dict(payload, (wrapper,))
    if state is None or not _is_super_resolution(state):
        return None
    state = rename_rrdb(state)
    if "conv_first.weight" in state:
        return NetworkContent("rrdb", infer_rrdb_config(state, where), state)
    return NetworkContent("srvgg", infer_srvgg_config(state, where), state)


def _read(file: CheckpointFile) -> CheckpointContent:
    where = str(file.path)
    found = {name: _read_network(file.payload, name, where) for name in _WRAPPERS}
    usable = {name: network for name, network in found.items() if network is not None}
    stored_as, generator = next(iter(usable.items()))
    networks: dict[Role, NetworkContent] = {"generator": generator}
    if stored_as == "params_ema" and find_state_dict(file.payload, ()) is None and "params" in usable:
        networks["raw_generator"] = usable["params"]
    metadata: dict[str, object] = {"assumptions": []}
    if generator.config.get("activation") == "relu":
        metadata["assumptions"] = ["the activation is ReLU: without slopes the file does not tell it"]
    return CheckpointContent(format=FORMAT.name, networks=networks, metadata=metadata)


FORMAT = Format(
    name="esrgan",
    description="ESRGAN and Real-ESRGAN torch files (RRDB or SRVGG; bare, `params` or `params_ema`)",
    recognizes=_recognizes,
    read=_read,
)
