"""Groups of channels: all of them, in order, all in channels-last."""

import pytest
import torch
from torch import Tensor

from gantune.ops.channel_groups import GROUP_BYTES, map_channel_groups


@pytest.mark.parametrize(
    ("channels", "plane_bytes", "sizes"),
    [
        (70, 1, [64, 6]),
        (70, GROUP_BYTES, [16, 16, 16, 16, 6]),
        (70, GROUP_BYTES // 40, [32, 32, 6]),
        (3, GROUP_BYTES, [3]),
    ],
)
def test_groups_fill_the_cache_between_16_and_64_channels(
    channels: int, plane_bytes: int, sizes: list[int]
) -> None:
    x = torch.randn(1, channels, 3, 4)
    seen: list[int] = []

    def double(group: Tensor, selected: slice) -> Tensor:
        assert group.is_contiguous(memory_format=torch.channels_last)
        assert torch.equal(group, x[:, selected])
        seen.append(group.shape[1])
        return group * 2

    y = map_channel_groups(x, double, plane_bytes=plane_bytes)

    assert seen == sizes
    assert torch.equal(y, x * 2)
    assert y.is_contiguous(memory_format=torch.channels_last)
