"""Read the ncnn form of Real-ESRGAN: SRVGG and RRDB from a `.param` / `.bin` pair, whichever is named."""

from collections.abc import Iterator
from pathlib import Path

from torch import Tensor

from gantune.checkpoints.checkpoint_file import CheckpointFile
from gantune.checkpoints.content import CheckpointContent, Format, NetworkContent
from gantune.checkpoints.esrgan import infer_rrdb_config, infer_srvgg_config
from gantune.checkpoints.ncnn_file import PARAM_MAGIC, NcnnLayer, read_ncnn
from gantune.checkpoints.ncnn_graph import check_rrdb_graph, check_srvgg_graph
from gantune.errors import CheckpointError

# An RRDB has 15 convolutions a block, and conv_first, conv_body, two upsamplings, conv_hr and conv_last.
_CONVOLUTIONS_A_BLOCK = 15
_CONVOLUTIONS_OUTSIDE = 6


def _starts_like_param(head: bytes) -> bool:
    return head.split(maxsplit=1)[:1] == [PARAM_MAGIC.encode()]


def _recognizes(file: CheckpointFile) -> bool:
    if _starts_like_param(file.head):
        return True
    param = file.path.with_suffix(".param")
    if param == file.path or not param.is_file():
        return False
    with param.open("rb") as stream:
        return _starts_like_param(stream.read(64))


def _read(file: CheckpointFile) -> CheckpointContent:
    layers = read_ncnn(file.path)
    has_slopes = any(layer.kind == "PReLU" for layer in layers)
    network = (_read_srvgg if has_slopes else _read_rrdb)(layers, file.path)
    return CheckpointContent(format=FORMAT.name, networks={"generator": network})


def _read_srvgg(layers: list[NcnnLayer], path: Path) -> NetworkContent:
    weighted = [layer for layer in layers if layer.tensors]
    state = dict(_name_tensors(weighted, [f"body.{position}" for position in range(len(weighted))]))
    config = infer_srvgg_config(state, str(path))
    num_conv, upscale = len(weighted) // 2 - 1, config["upscale"]
    assert isinstance(upscale, int)
    check_srvgg_graph(layers, path, num_conv=num_conv, upscale=upscale)
    return NetworkContent("srvgg", config, state)


def _read_rrdb(layers: list[NcnnLayer], path: Path) -> NetworkContent:
    weighted = [layer for layer in layers if layer.tensors]
    num_block, left = divmod(len(weighted) - _CONVOLUTIONS_OUTSIDE, _CONVOLUTIONS_A_BLOCK)
    if num_block < 1 or left:
        raise CheckpointError(
            f"{path} is neither SRVGG (it has no PReLU) nor RRDB (it has {len(weighted)} convolutions, which "
            f"must be {_CONVOLUTIONS_OUTSIDE} and {_CONVOLUTIONS_A_BLOCK} a block)."
        )
    state = dict(_name_tensors(weighted, list(_rrdb_names(num_block))))
    check_rrdb_graph(layers, path, num_block=num_block)
    return NetworkContent("rrdb", infer_rrdb_config(state, str(path)), state)


def _rrdb_names(num_block: int) -> Iterator[str]:
    yield "conv_first"
    for block in range(num_block):
        for dense in range(1, 4):
            for conv in range(1, 6):
                yield f"body.{block}.rdb{dense}.conv{conv}"
    yield from ("conv_body", "conv_up1", "conv_up2", "conv_hr", "conv_last")


def _name_tensors(layers: list[NcnnLayer], names: list[str]) -> Iterator[tuple[str, Tensor]]:
    for layer, name in zip(layers, names, strict=True):
        for kind, tensor in layer.tensors.items():
            yield f"{name}.{kind}", tensor


FORMAT = Format(
    name="ncnn",
    description="ncnn .param/.bin pairs of Real-ESRGAN (RRDB or SRVGG, fp16 or fp32)",
    recognizes=_recognizes,
    read=_read,
)
