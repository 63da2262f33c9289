import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantune.checkpoints.channel_widths import fit_channel_widths
from gantune.errors import CheckpointError


def widths(base: int, most: int, log2_resolution: int) -> dict[int, int]:
    return {2**level: min(base // 2**level, most) for level in range(2, log2_resolution + 1)}


@given(st.integers(1024, 65536), st.integers(1, 1024), st.integers(2, 10))
def test_the_found_pair_gives_back_the_widths(base: int, most: int, log2_resolution: int) -> None:
    found = fit_channel_widths(widths(base, most, log2_resolution))
    assert widths(*found, log2_resolution) == widths(base, most, log2_resolution)


def test_the_table_of_rosinality_is_fitted() -> None:
    table = {4: 512, 8: 512, 16: 512, 32: 512, 64: 512, 128: 256, 256: 128, 512: 64, 1024: 32}
    assert fit_channel_widths(table) == (32768, 512)


def test_a_table_that_no_pair_gives_is_refused() -> None:
    with pytest.raises(CheckpointError, match="16 at 4, 32 at 8"):
        fit_channel_widths({4: 16, 8: 32, 16: 4})
