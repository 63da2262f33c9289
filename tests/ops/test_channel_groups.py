"""Groups of channels: all of them, in order, in channels-last, and back in the format of the input."""

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
    assert y.is_contiguous()


def test_a_channels_last_image_stays_so() -> None:
    x = torch.randn(2, 70, 3, 4).contiguous(memory_format=torch.channels_last)
    y = map_channel_groups(x, lambda group, _: group + 1, plane_bytes=GROUP_BYTES)
    assert torch.equal(y, x + 1)
    assert y.is_contiguous(memory_format=torch.channels_last)
