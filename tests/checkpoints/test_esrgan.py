from pathlib import Path

import pytest
import torch
from torch import Tensor

from gantune.checkpoints import load, load_checkpoint
from gantune.errors import CheckpointError
from gantune.networks.catalogue import build_network

State = dict[str, Tensor]


def rrdb_state(**changes: int) -> State:
    torch.manual_seed(0)
    config = {"num_feat": 6, "num_block": 3, "num_grow_ch": 4, **changes}
    return build_network("rrdb", config).state_dict()


def srvgg_state(**changes: object) -> State:
    torch.manual_seed(0)
    return build_network("srvgg", {"num_feat": 6, "num_conv": 3, "upscale": 2, **changes}).state_dict()


def save(folder: Path, content: object) -> Path:
    path = folder / "model.pth"
    torch.save(content, path)
    return path


def assert_same(network: torch.nn.Module, state: State) -> None:
    assert network.state_dict().keys() == state.keys()
    assert all(torch.equal(value, state[name]) for name, value in network.state_dict().items())


def first_names(state: State) -> State:
    """Give the weights the names of the first ESRGAN release, scale 4."""
    outer = {"conv_first": 0, "conv_up1": 3, "conv_up2": 6, "conv_hr": 8, "conv_last": 10}
    renamed = {}
    for name, tensor in state.items():
        module, _, kind = name.rpartition(".")
        if module.startswith("body."):
            _, block, dense, conv = module.split(".")
            renamed[f"model.1.sub.{block}.{dense.upper()}.{conv}.0.{kind}"] = tensor
        elif module == "conv_body":
            renamed[f"model.1.sub.3.{kind}"] = tensor
        else:
            renamed[f"model.{outer[module]}.{kind}"] = tensor
    return renamed


def second_names(state: State) -> State:
    """Give the weights the names of the second ESRGAN release."""
    renamed = {}
    for name, tensor in state.items():
        new = name.replace("body.", "RRDB_trunk.") if name.startswith("body.") else name
        new = new.replace(".rdb", ".RDB").replace("conv_body", "trunk_conv").replace("conv_hr", "HRconv")
        renamed[new.replace("conv_up", "upconv")] = tensor
    return renamed


@pytest.mark.parametrize("naming", [dict, first_names, second_names])
def test_all_three_generations_of_names_load(tmp_path: Path, naming: type) -> None:
    state = rrdb_state()
    network = load(save(tmp_path, naming(state)))
    assert network.config == {
        "img_channels": 3,
        "num_feat": 6,
        "num_block": 3,
        "num_grow_ch": 4,
        "num_upsamplings": 2,
        "unshuffle": 1,
    }
    assert_same(network, state)


@pytest.mark.parametrize(
    ("changes", "scale"),
    [
        ({"unshuffle": 2}, 2),
        ({"unshuffle": 4}, 1),
        ({"num_upsamplings": 1}, 2),
        ({"num_upsamplings": 3}, 8),
    ],
)
def test_the_scale_is_inferred(tmp_path: Path, changes: dict[str, int], scale: int) -> None:
    network = load(save(tmp_path, {"params_ema": rrdb_state(**changes)}))
    assert network(torch.rand(1, 3, 8, 8)).shape == (1, 3, 8 * scale, 8 * scale)


@pytest.mark.parametrize("wrapper", ["params", "params_ema", "state_dict", None])
def test_srvgg_loads_bare_or_under_a_name(tmp_path: Path, wrapper: str | None) -> None:
    state = srvgg_state()
    checkpoint = load_checkpoint(save(tmp_path, {wrapper: state} if wrapper else state))
    assert checkpoint.format == "esrgan"
    assert checkpoint.generator.config["num_conv"] == 3
    assert checkpoint.generator.config["upscale"] == 2
    assert checkpoint.raw_generator is None
    assert checkpoint.metadata["assumptions"] == []
    assert_same(checkpoint.generator, state)


def test_the_averaged_weights_are_the_generator_and_the_others_the_raw_one(tmp_path: Path) -> None:
    averaged, raw = srvgg_state(), {name: tensor + 1 for name, tensor in srvgg_state().items()}
    checkpoint = load_checkpoint(save(tmp_path, {"params": raw, "params_ema": averaged}))
    assert_same(checkpoint.generator, averaged)
    assert checkpoint.raw_generator is not None
    assert_same(checkpoint.raw_generator, raw)


def test_half_precision_and_data_parallel_names_become_plain(tmp_path: Path) -> None:
    state = {name: tensor.half() for name, tensor in srvgg_state().items()}
    network = load(save(tmp_path, {"params": {f"module.{name}": value for name, value in state.items()}}))
    assert_same(network, {name: value.float() for name, value in state.items()})


def test_an_activation_without_slopes_is_an_assumption_that_is_told(tmp_path: Path) -> None:
    checkpoint = load_checkpoint(save(tmp_path, srvgg_state(activation="leakyrelu")))
    assert checkpoint.generator.config["activation"] == "relu"
    assert "ReLU" in str(checkpoint.metadata["assumptions"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"body.8.weight": torch.zeros(13, 6, 3, 3)}, "3 times a square"),
        ({"body.8.weight": torch.zeros(12, 6)}, "4 sizes must stand there"),
        ({"body.8.weight": torch.zeros(12, 7, 3, 3)}, "body.8.weight"),
        ({"body.9.weight": torch.zeros(6)}, "body.9.weight has shape"),
        ({"body.4.weight": None}, "body.4.weight missing"),
        ({"body.0.weight": torch.full((6, 3, 3, 3), float("nan"))}, "NaN"),
    ],
)
def test_weights_that_fit_no_srvgg_are_refused(
    tmp_path: Path, change: dict[str, Tensor | None], message: str
) -> None:
    state = {**srvgg_state(), **change}
    kept = {name: tensor for name, tensor in state.items() if tensor is not None}
    with pytest.raises(CheckpointError, match=message):
        load(save(tmp_path, kept))


def test_weights_that_fit_no_rrdb_are_refused(tmp_path: Path) -> None:
    state = rrdb_state()
    with pytest.raises(CheckpointError, match="3 of the image times a square"):
        load(save(tmp_path, {**state, "conv_first.weight": torch.zeros(6, 5, 3, 3)}))
    with pytest.raises(CheckpointError, match="left over"):
        load(save(tmp_path, {**state, "body.0.rdb1.conv1x1.weight": torch.zeros(4, 6, 1, 1)}))
    del state["conv_last.weight"]
    with pytest.raises(CheckpointError, match=r"conv_last\.weight is missing"):
        load(save(tmp_path, state))
