import pytest
import torch
from torch import nn

from gantune.errors import UsageError
from gantune.networks.catalogue import build_network
from gantune.networks.dcgan import DCGANGenerator

LAYERS = [
    {"width": 8, "stride": 1, "padding": 0},
    {"width": 4, "dropout": 0.5},
    {"width": 3, "norm": False},
]


def build(**changes: object) -> DCGANGenerator:
    torch.manual_seed(0)
    network = build_network("dcgan", {"layers": LAYERS, "z_dim": 6, **changes})
    assert isinstance(network, DCGANGenerator)
    return network


def test_a_sequential_twin_gives_the_same_image() -> None:
    torch.manual_seed(3)
    twin = nn.Sequential(
        nn.ConvTranspose2d(6, 8, 4, 1, 0, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.ConvTranspose2d(8, 4, 4, 2, 1, bias=False),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.Dropout(),
        nn.ConvTranspose2d(4, 3, 4, 2, 1, bias=False),
        nn.Tanh(),
    ).eval()
    for norm in (twin[1], twin[4]):
        norm.running_mean.normal_()
        norm.running_var.uniform_(0.5, 2)
    network = build()
    network.load_state_dict(dict(zip(network.state_dict(), twin.state_dict().values(), strict=True)))
    z = torch.randn(3, 6)
    with torch.no_grad():
        expected = twin(z[:, :, None, None])
        torch.testing.assert_close(network(z), expected)
        torch.testing.assert_close(network(z[:, :, None, None]), expected)
    assert expected.shape == (3, 3, 16, 16)


def test_the_class_enters_one_hot_after_the_latent() -> None:
    conditional = build(num_classes=2)
    plain = build(z_dim=8)
    plain.load_state_dict(conditional.state_dict())
    z, y = torch.randn(2, 6), torch.tensor([1, 0])
    expected = plain(torch.cat([z, torch.tensor([[0.0, 1.0], [1.0, 0.0]])], 1))
    torch.testing.assert_close(conditional(z, y), expected)
    torch.testing.assert_close(conditional(z, torch.tensor([[0.0, 1.0], [1.0, 0.0]])), expected)


def test_the_class_may_enter_by_an_embedding() -> None:
    conditional = build(num_classes=5, embedding_dim=2)
    plain = build(z_dim=8)
    state = conditional.state_dict()
    table = state.pop("embedding.weight")
    plain.load_state_dict(state)
    z, y = torch.randn(2, 6), torch.tensor([4, 2])
    torch.testing.assert_close(conditional(z, y), plain(torch.cat([z, table[y]], 1)))


def test_a_missing_and_an_unwanted_class_are_refused() -> None:
    with pytest.raises(UsageError, match="takes classes y below 2; y is missing"):
        build(num_classes=2)(torch.randn(1, 6))
    with pytest.raises(UsageError, match="takes no classes y; y is given"):
        build()(torch.randn(1, 6), torch.tensor([0]))
    with pytest.raises(UsageError, match=r"one-hot classes \[N, 2\]"):
        build(num_classes=2)(torch.randn(1, 6), torch.randn(1, 3))


def test_inputs_list_the_class_only_where_there_is_one() -> None:
    assert [spec.name for spec in build().inputs] == ["z"]
    assert [spec.name for spec in build(num_classes=2).inputs] == ["z", "y"]
    assert build(num_classes=2).sample_inputs(4, 0)["y"].max() < 2
