from math import pi

import pytest
import torch
from torch import Tensor

from gantune.quality.motion import limit_to_common_band, rotate, shift_fraction, shift_whole


def waves(dx: float = 0.0, dy: float = 0.0, angle: float = 0.0, side: int = 48) -> Tensor:
    """Two slow waves whose scene was rotated by `angle` about the middle, then moved by (dx, dy)."""
    axis = torch.arange(side, dtype=torch.float64) - (side - 1) / 2
    y, x = torch.meshgrid(axis, axis, indexing="ij")
    turn = torch.tensor(angle, dtype=torch.float64)
    x, y = x - dx, y - dy
    x, y = turn.cos() * x + turn.sin() * y, -turn.sin() * x + turn.cos() * y
    return (torch.sin(2 * pi * 0.06 * x + 1) + torch.cos(2 * pi * (0.05 * y + 0.02 * x)))[None, None]


def test_a_whole_shift_moves_right_and_down() -> None:
    moved, known = shift_whole(waves(), 5, -3)
    assert torch.allclose(moved[:, :, known], waves(5, -3)[:, :, known], atol=1e-12)
    assert int(known.sum()) == 43 * 45


@pytest.mark.parametrize(("dx", "dy"), [(2.3, -1.6), (-0.49, 4.5), (0.0, 0.0)])
def test_a_fractional_shift_moves_the_scene(dx: float, dy: float) -> None:
    moved, known = shift_fraction(waves(), dx, dy)
    assert torch.allclose(moved[:, :, known], waves(dx, dy)[:, :, known], atol=0.02)
    assert int(known.sum()) >= 36 * 36


@pytest.mark.parametrize("angle", [0.3, pi / 2, -2.0])
def test_a_rotation_turns_the_scene(angle: float) -> None:
    turned, known = rotate(waves(), angle)
    assert torch.allclose(turned[:, :, known], waves(angle=angle)[:, :, known], atol=0.02)
    assert int(known.sum()) > 1000


def test_the_common_band_keeps_slow_waves_and_drops_the_corners() -> None:
    limited, known = limit_to_common_band(waves(), pi / 4)
    assert torch.allclose(limited[:, :, known], waves()[:, :, known], atol=0.02)
    rows, columns = torch.meshgrid(torch.arange(48), torch.arange(48), indexing="ij")
    corner = torch.where((rows + columns) % 2 == 0, 1.0, -1.0).double()[None, None]
    limited, known = limit_to_common_band(corner, pi / 4)
    assert limited[:, :, known].abs().max() < 0.05
