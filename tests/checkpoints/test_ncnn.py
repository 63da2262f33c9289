from pathlib import Path

import pytest
import torch

from gantune.checkpoints import load, load_checkpoint
from gantune.errors import CheckpointError
from gantune.networks.catalogue import build_network
from ncnn_writer import random_srvgg_state, write_rrdb, write_srvgg


@pytest.mark.parametrize("half", [False, True])
def test_an_srvgg_comes_back_as_written_whichever_file_is_named(tmp_path: Path, *, half: bool) -> None:
    state = random_srvgg_state()
    param = write_srvgg(tmp_path, state, scale=2, half=half)
    for path in (param, param.with_suffix(".bin")):
        checkpoint = load_checkpoint(path)
        assert checkpoint.format == "ncnn"
        network = checkpoint.generator
        assert network.config == {
            "img_channels": 3,
            "num_feat": 5,
            "num_conv": 2,
            "upscale": 2,
            "activation": "prelu",
        }
        assert network.state_dict().keys() == state.keys()
        assert all(torch.equal(value, state[name]) for name, value in network.state_dict().items())


@pytest.mark.parametrize("half", [False, True])
def test_an_rrdb_comes_back_as_written(tmp_path: Path, *, half: bool) -> None:
    torch.manual_seed(0)
    config = {"num_feat": 5, "num_block": 2, "num_grow_ch": 3}
    written = build_network("rrdb", config).half().float()
    param = write_rrdb(tmp_path, written.state_dict(), num_block=2, half=half)
    network = load(param)
    assert network.config == written.config
    image = torch.rand(1, 3, 4, 6)
    assert torch.equal(network(image), written(image))


@pytest.mark.parametrize("cut", [1, 4, 100, 1000])
def test_a_truncated_weight_file_is_refused_by_the_layer_it_ends_in(tmp_path: Path, cut: int) -> None:
    param = write_srvgg(tmp_path, random_srvgg_state(), scale=2, half=True)
    weights = param.with_suffix(".bin")
    weights.write_bytes(weights.read_bytes()[:-cut])
    with pytest.raises(
        CheckpointError, match=rf"ends at byte {weights.stat().st_size}, inside layer \w+_\d+"
    ):
        load(param)


def test_extra_bytes_are_refused(tmp_path: Path) -> None:
    param = write_srvgg(tmp_path, random_srvgg_state(), scale=2)
    with param.with_suffix(".bin").open("ab") as stream:
        stream.write(b"\0\0\0\0")
    with pytest.raises(CheckpointError, match="holds 4 bytes after the last weight"):
        load(param)


def test_half_a_pair_is_refused(tmp_path: Path) -> None:
    param = write_srvgg(tmp_path, random_srvgg_state(), scale=2)
    param.with_suffix(".bin").unlink()
    with pytest.raises(CheckpointError, match=r"model\.bin is not beside it"):
        load(param)


def test_weights_in_another_form_are_refused(tmp_path: Path) -> None:
    param = write_srvgg(tmp_path, random_srvgg_state(), scale=2)
    weights = param.with_suffix(".bin")
    weights.write_bytes((0x000D4B38).to_bytes(4, "little") + weights.read_bytes()[4:])
    with pytest.raises(CheckpointError, match="stored in form 0x000D4B38 at byte 0"):
        load(param)


def test_nan_weights_are_refused(tmp_path: Path) -> None:
    state = random_srvgg_state()
    state["body.2.bias"][1] = float("nan")
    with pytest.raises(CheckpointError, match="NaN"):
        load(write_srvgg(tmp_path, state, scale=2))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("7767517\n", "7767517\n\n7767517\n", "layers follow"),
        (" 4=1 5=1", " 4=0 5=1", "parameter 4 is .0.0,., expected .1.0,."),
        (" 4=1 5=1", " 3=2 4=1 5=1", "parameter 3 is .2.0,., expected .1.0,."),
        (" 4=1 5=1", " 4=1 14=0 5=1", "parameter 14 is .0.0,., expected .1.0,."),
        ("PixelShuffle_", "Sigmoid_", None),
        ("PixelShuffle ", "Sigmoid ", "is a Sigmoid"),
        ("0=1 1=2.0", "0=2 1=2.0", "parameter 0 is .2.0,., expected .1.0,."),
        ("data_copy1 Interp", "data_copy9 Interp", "which no layer before it makes"),
        (
            "Interp Interp_10 1 1 data_copy1",
            "Interp Interp_10 1 1 PReLU_3",
            "it reads layers .2,., expected .0,.",
        ),
        ("PReLU_3 0=5", "PReLU_3 0=x", "is not an ncnn layer"),
        ("PReLU_3 0=5", "PReLU_3 0=-5", "a positive size must stand there"),
        ("6=135", "6=99999999999", "not a multiple"),
        ("6=135", "6=99999999990", "inside layer Convolution_2"),
        ("1 1 data_copy0", "1 9 data_copy0", "is not an ncnn layer"),
    ],
)
def test_a_graph_that_computes_something_else_is_refused_by_its_layer(
    tmp_path: Path, old: str, new: str, message: str | None
) -> None:
    param = write_srvgg(tmp_path, random_srvgg_state(), scale=2)
    text = param.read_text()
    assert old in text
    param.write_text(text.replace(old, new))
    if message is None:
        load(param)
        return
    with pytest.raises(CheckpointError, match=message):
        load(param)


def test_a_graph_with_a_layer_too_many_is_refused(tmp_path: Path) -> None:
    param = write_srvgg(tmp_path, random_srvgg_state(), scale=2)
    lines = param.read_text().splitlines()
    count = len(lines) - 1
    extra = f"Interp Shrink 1 1 {lines[-1].split()[1]} out 0=3 1=0.5 2=0.5"
    param.write_text("\n".join(["7767517", f"{count} {count}", *lines[2:], extra]))
    with pytest.raises(CheckpointError, match="the first extra one is Shrink"):
        load(param)


def test_an_rrdb_that_scales_its_residuals_otherwise_is_refused(tmp_path: Path) -> None:
    network = build_network("rrdb", {"num_feat": 4, "num_block": 1, "num_grow_ch": 2})
    param = write_rrdb(tmp_path, network.state_dict(), num_block=1)
    param.write_text(param.read_text().replace("-23301=2,2.000000e-01", "-23301=2,3.000000e-01", 1))
    with pytest.raises(CheckpointError, match=r"parameter 1 is \(0.3, 1.0\), expected \(0.2, 1.0\)"):
        load(param)
