import math

import pytest
import torch
from torch import Tensor, nn

from gantune.errors import UnsupportedError
from gantune.measuring.macs import count_macs
from gantune.networks.catalogue import build_network

X = torch.zeros(1, 4, 8, 8)


@pytest.mark.parametrize(
    ("layer", "x", "macs"),
    [
        (nn.Conv2d(4, 6, 3, padding=1), X, 8 * 8 * 6 * 4 * 9),
        (nn.Conv2d(4, 6, 3, stride=2, padding=1), X, 4 * 4 * 6 * 4 * 9),
        (nn.Conv2d(4, 6, 1, groups=2), X, 8 * 8 * 6 * 2),
        (nn.ConvTranspose2d(4, 6, 3, stride=2), X, 8 * 8 * 4 * 6 * 9),
        (nn.Conv1d(4, 6, 5), torch.zeros(3, 4, 20), 3 * 16 * 6 * 4 * 5),
        (nn.Linear(7, 5), torch.zeros(3, 7), 3 * 7 * 5),
        (nn.Linear(7, 5, bias=False), torch.zeros(2, 3, 7), 2 * 3 * 7 * 5),
        (nn.Sequential(nn.BatchNorm2d(4), nn.LeakyReLU(), nn.Upsample(scale_factor=2)).eval(), X, 0),
    ],
)
def test_products_are_counted_as_by_hand(layer: nn.Module, x: Tensor, macs: int) -> None:
    count = count_macs(layer, {"input": x})
    assert count.macs == macs
    assert count.filter_macs == 0


def test_a_depthwise_filter_is_counted_apart() -> None:
    count = count_macs(nn.Conv2d(4, 4, 3, padding=1, groups=4), {"input": X})
    assert (count.macs, count.filter_macs) == (0, 4 * 8 * 8 * 9)


class Attention(nn.Module):
    def forward(self, q: Tensor) -> Tensor:
        return torch.einsum("nqd,nkd->nqk", q, q) @ q + nn.functional.scaled_dot_product_attention(q, q, q)


def test_matrix_products_and_attention_are_counted() -> None:
    assert count_macs(Attention(), {"q": torch.zeros(2, 5, 3)}).macs == 4 * (2 * 5 * 5 * 3)


class Spectrum(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.fft.rfft2(x).abs()


def test_an_operation_that_cannot_be_counted_is_an_error() -> None:
    with pytest.raises(UnsupportedError, match="fft"):
        count_macs(Spectrum(), {"x": X})


def test_macs_and_parameters_are_told_by_layer() -> None:
    network = nn.Sequential(nn.Linear(7, 5), nn.ReLU(), nn.Sequential(nn.Linear(5, 2)))
    count = count_macs(network, {"input": torch.zeros(1, 7)})
    assert count.by_layer == {"0": 35, "2.0": 10}
    assert count.num_parameters == 7 * 5 + 5 + 5 * 2 + 2
    assert count.parameter_bytes == 4 * count.num_parameters


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "resolution", "channel_base", "giga_macs"),
    [("stylegan2", 256, 16384, 14.9), ("stylegan2", 1024, 32768, 74.3), ("stylegan3", 256, 16384, 105)],
)
def test_official_networks_have_the_published_work(
    family: str, resolution: int, channel_base: int, giga_macs: float
) -> None:
    config: dict[str, object] = {"z_dim": 512, "c_dim": 0, "w_dim": 512, "img_channels": 3}
    network = build_network(family, config | {"img_resolution": resolution, "channel_base": channel_base})
    assert math.isclose(count_macs(network).macs / 1e9, giga_macs, rel_tol=0.01)
