import sys

import pytest
import torch

from gantune.ops.native import result_arena
from gantune.ops.native.result_arena import ResultArena, empty_channels_last, empty_contiguous

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the arena needs Linux")

PIECE = 1 << 20


def take(arena: ResultArena, num_bytes: int) -> torch.Tensor:
    taken = arena.take(num_bytes, torch.float32)
    assert taken is not None
    return taken


def test_freed_neighbors_join_and_are_taken_again() -> None:
    arena = ResultArena(8 * PIECE)
    first, second, third = (take(arena, PIECE) for _ in range(3))
    start = first.data_ptr()
    del first, second

    both = take(arena, 2 * PIECE)

    assert both.data_ptr() == start
    assert third.data_ptr() == start + 2 * PIECE


def test_pieces_alive_never_overlap() -> None:
    arena = ResultArena(64 * PIECE)
    generator = torch.Generator().manual_seed(0)
    alive: list[tuple[torch.Tensor, int]] = []
    for number in range(200):
        num_floats = int(torch.randint(1, PIECE, (), generator=generator))
        taken = arena.take(4 * num_floats, torch.float32)
        if taken is None or number % 3 == 0:
            alive = alive[1::2]
            continue
        taken.fill_(number)
        alive.append((taken, number))
        assert all(bool((piece == mark).all()) for piece, mark in alive)


def test_a_view_keeps_its_piece() -> None:
    arena = ResultArena(2 * PIECE)
    view = take(arena, 2 * PIECE)[10:20]

    assert arena.take(PIECE, torch.float32) is None
    del view
    assert arena.take(2 * PIECE, torch.float32) is not None


def test_more_than_the_region_holds_is_refused() -> None:
    assert ResultArena(PIECE).take(PIECE + 1, torch.float32) is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_large_results_of_inference_come_from_the_arena(
    dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    arena = ResultArena(128 * PIECE)
    monkeypatch.setattr(result_arena, "_shared_arena", lambda: arena)
    shape = (2, 3, 1024, 2048)

    with torch.inference_mode():
        planar, last = empty_contiguous(shape, dtype), empty_channels_last(shape, dtype)
        empty_contiguous((1, 1, 4, 4), dtype)

    assert planar.is_contiguous()
    assert last.is_contiguous(memory_format=torch.channels_last)
    assert (planar.dtype, planar.shape, last.dtype, last.shape) == (dtype, shape, dtype, shape)
    size = planar.numel() * dtype.itemsize
    assert arena._free[0][0] == 2 * size


def test_training_never_takes_from_the_arena(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_arena, "_shared_arena", lambda: pytest.fail("taken from the arena"))
    assert empty_contiguous((1, 8, 1024, 1024), torch.float32).shape == (1, 8, 1024, 1024)
