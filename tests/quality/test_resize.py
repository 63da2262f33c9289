import pytest
import torch

from gantune.errors import UsageError
from gantune.quality.resize import resize


def test_shrinking_a_checkerboard_leaves_gray_only_where_antialiased() -> None:
    rows, columns = torch.meshgrid(torch.arange(64), torch.arange(64), indexing="ij")
    board = (255.0 * ((rows // 2 + columns // 2) % 2)).expand(1, 3, 64, 64)
    clean, legacy = (resize(board, 15, mode=mode) for mode in ("clean", "legacy"))
    middle = slice(2, -2)
    assert (clean[:, :, middle, middle] - 127.5).abs().max() < 20
    assert (legacy[:, :, middle, middle] - 127.5).abs().max() > 60


def test_images_of_the_right_size_are_untouched() -> None:
    image = torch.rand(1, 3, 9, 9)
    assert resize(image, 9, mode="clean") is image


def test_unknown_modes_are_refused() -> None:
    with pytest.raises(UsageError, match="clean, legacy"):
        resize(torch.rand(1, 3, 9, 9), 4, mode="nearest")  # type: ignore[arg-type]
