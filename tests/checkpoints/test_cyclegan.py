from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from gantune.checkpoints import load_checkpoint
from gantune.errors import CheckpointError
from gantune.networks.catalogue import build_network

Config = dict[str, object]


def write(path: Path, config: Config) -> nn.Module:
    torch.manual_seed(0)
    network = build_network("cyclegan", config)
    for tensor in network.state_dict().values():
        if tensor.is_floating_point():
            tensor.add_(torch.rand_like(tensor) * 0.3)
    torch.save(dict(network.state_dict()), path)
    return network


@pytest.mark.parametrize(
    "config",
    [
        {"num_feat": 4, "num_block": 2, "norm": "instance"},
        {"num_feat": 4, "num_block": 3, "norm": "instance_affine", "dropout": True},
        {"num_feat": 4, "num_block": 1, "norm": "batch", "num_downsamplings": 1, "out_channels": 1},
    ],
)
def test_the_configuration_is_read_from_names_and_shapes(tmp_path: Path, config: Config) -> None:
    network = write(tmp_path / "net.pth", config)
    found = load_checkpoint(tmp_path / "net.pth").generator
    assert found.config == network.config
    image = torch.rand(1, 3, 16, 16)
    assert torch.equal(found(image), network(image))


def test_blocks_under_another_name_and_statistics_of_old_norms_are_read(tmp_path: Path) -> None:
    network = write(tmp_path / "net.pth", {"num_feat": 4, "num_block": 1})
    state: dict[str, Tensor] = {
        name.replace(".conv_block.", ".block."): tensor for name, tensor in network.state_dict().items()
    }
    state |= {"model.2.running_mean": torch.zeros(4), "model.2.running_var": torch.ones(4)}
    torch.save({"netG": state}, tmp_path / "net.pth")
    image = torch.rand(1, 3, 16, 16)
    assert torch.equal(load_checkpoint(tmp_path / "net.pth").generator(image), network(image))


def test_blocks_that_do_not_follow_each_other_are_refused(tmp_path: Path) -> None:
    network = write(tmp_path / "net.pth", {"num_feat": 4, "num_block": 3})
    state = {name: tensor for name, tensor in network.state_dict().items() if "model.11." not in name}
    torch.save(state, tmp_path / "net.pth")
    with pytest.raises(CheckpointError, match="its blocks stand at 10, 12"):
        load_checkpoint(tmp_path / "net.pth")
