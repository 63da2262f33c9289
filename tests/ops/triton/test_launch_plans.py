"""Launch plans are what a hand calculation gives, and cover every output exactly once."""

from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gantune.ops.triton.device_facts import INTERPRETER, DeviceFacts
from gantune.ops.triton.launch_plans import (
    MiddlePlan,
    Stage,
    divide_up,
    plan_band,
    plan_direct,
    plan_middle,
    plan_pointwise,
    round_up,
)

GPU = DeviceFacts(
    num_multiprocessors=132,
    programs_wanted=528,
    shared_memory_bytes=232448,
    program_cost_macs=100_000,
    most_elements=2048,
)
SMALL_GPU = DeviceFacts(
    num_multiprocessors=20,
    programs_wanted=80,
    shared_memory_bytes=65536,
    program_cost_macs=100_000,
    most_elements=2048,
)
DEVICES = st.sampled_from([GPU, SMALL_GPU, INTERPRETER])
SIZES = st.integers(1, 300)


def test_powers_of_two_and_blocks_by_hand() -> None:
    assert [round_up(size) for size in (1, 2, 3, 16, 17)] == [1, 2, 4, 16, 32]
    assert [divide_up(size, 4) for size in (1, 4, 5)] == [1, 1, 2]


def test_a_large_image_is_passed_over_in_the_largest_tiles() -> None:
    # 128 planes of 65536: 2048 elements are a 32nd of a plane, so 128 · 32 programs.
    plan = plan_pointwise(128, 65536, GPU)
    assert (plan.block_rows, plan.block_columns, plan.num_programs) == (1, 2048, 4096)


def test_a_small_image_leaves_every_multiprocessor_a_program() -> None:
    # 262144 elements / (132 · 4) = 496, so tiles of 256: 1024 programs, of 16 rows of 16.
    plan = plan_pointwise(512 * 32, 16, GPU)
    assert (plan.block_rows, plan.block_columns, plan.num_programs) == (16, 16, 1024)


def test_direct_tiles_follow_the_layout() -> None:
    planes = plan_direct((1, 64, 256, 256), GPU, is_channels_last=False)
    assert (planes.block_c, planes.block_y, planes.block_x) == (1, 32, 64)
    assert planes.tiles == (64, 8, 4)
    last = plan_direct((1, 64, 256, 256), GPU, is_channels_last=True)
    assert (last.block_c, last.block_y, last.block_x) == (64, 1, 32)
    tiny = plan_direct((1, 512, 4, 4), GPU, is_channels_last=False)
    # 8192 elements: the least tile, 256, holds 16 channels of 4 × 4.
    assert (tiny.block_c, tiny.block_y, tiny.block_x, tiny.tiles) == (16, 4, 4, (32, 1, 1))


def test_a_band_tile_reads_what_its_taps_reach() -> None:
    # Up 2 with 12 taps: 16 outputs reach (15 + 11) // 2 + 2 = 15 samples, so 16.
    up = plan_band(
        (1, 64, 512, 512), ((2, 1, 12), (2, 1, 12)), GPU, terms=1, element_bytes=4, is_channels_last=True
    )
    assert (up.out_size, up.in_size, up.block_c) == ((16, 16), (16, 16), 8)
    # 8 blocks of channels at 32 × 32 places; 16 in turn would leave too few programs: 8192 // 528 = 15 of 8.
    assert (up.tiles, up.units, up.num_programs) == ((32, 32), 8, 1024)


def test_a_middle_of_32_serves_the_typical_stylegan3_layer() -> None:
    # (32 − 12) // 2 + 1 = 11 outputs of 16; 31 + 11 = 42 // 2 + 2 = 23 samples, so 32.
    # 32·32·64 + 32·16·48 = 90112 products for 121 outputs; 64 would take 720896 for 729, 16 has only 3 of 16.
    plan = plan_middle(
        (1, 512, 54, 54), Stage(2, 12, 1), Stage(2, 12, 1), GPU, element_bytes=4, is_channels_last=False
    )
    assert (plan.middle_size, plan.used, plan.out_size, plan.in_size) == (32, 11, 16, 32)
    assert plan.tiles == (5, 5)
    assert plan.gradient_size == 0


def test_the_gradient_reads_the_incoming_one_under_both_filters() -> None:
    plan = plan_middle(
        (1, 512, 54, 54),
        Stage(2, 12, 1),
        Stage(2, 12, 1),
        GPU,
        element_bytes=4,
        is_channels_last=False,
        is_gradient=True,
    )
    assert plan.gradient_size == plan.in_size == 32
    assert plan.used == 11


def test_plans_are_made_once() -> None:
    plan_pointwise.cache_clear()
    first = plan_pointwise(3, 5, GPU)
    assert plan_pointwise(3, 5, GPU) is first


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(SIZES, SIZES, st.integers(1, 70), SIZES, DEVICES, st.booleans())
def test_tiles_cover_the_image_and_are_powers_of_two(
    height: int, width: int, channels: int, samples: int, facts: DeviceFacts, is_last: bool
) -> None:
    direct = plan_direct((samples, channels, height, width), facts, is_channels_last=is_last)
    blocks = (direct.block_c, direct.block_y, direct.block_x)
    assert prod(blocks) <= facts.most_elements
    for size, block, tiles in zip((channels, height, width), blocks, direct.tiles, strict=True):
        assert block == round_up(block)
        assert (tiles - 1) * block < size <= tiles * block
    flat = plan_pointwise(channels * height, width, facts)
    assert flat.block_rows * flat.block_columns <= facts.most_elements
    assert flat.num_programs == divide_up(channels * height, flat.block_rows) * divide_up(
        width, flat.block_columns
    )


def assert_covers(plan: MiddlePlan, shape: tuple[int, int, int, int], up: Stage, down: Stage) -> None:
    for size, tiles in zip(shape[2:], plan.tiles, strict=True):
        assert (tiles - 1) * plan.used < size <= tiles * plan.used
    planes = shape[0] * divide_up(shape[1], plan.block_c)
    assert plan.num_programs * plan.units >= planes * plan.tiles[0] * plan.tiles[1]
    assert (plan.middle_size - 1 + up.taps - 1) // up.factor + 2 <= plan.in_size
    assert plan.used <= plan.out_size
    sizes = (plan.in_size, plan.middle_size, plan.out_size)
    assert all(size == round_up(size) >= 16 for size in sizes)


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(
    st.tuples(st.integers(1, 4), st.integers(1, 70), SIZES, SIZES),
    st.tuples(st.integers(1, 4), st.integers(1, 32)),
    st.tuples(st.integers(1, 4), st.integers(1, 32)),
    DEVICES,
    st.booleans(),
)
def test_a_middle_holds_what_its_results_need(
    shape: tuple[int, int, int, int],
    up: tuple[int, int],
    down: tuple[int, int],
    facts: DeviceFacts,
    is_last: bool,
) -> None:
    first, last = Stage(*up, 1), Stage(*down, 1)
    forward = plan_middle(shape, first, last, facts, element_bytes=4, is_channels_last=is_last)
    assert_covers(forward, shape, first, last)
    assert (forward.used - 1) * last.factor + last.taps <= forward.middle_size
    backward = plan_middle(
        shape, first, last, facts, element_bytes=4, is_channels_last=is_last, is_gradient=True
    )
    assert_covers(backward, shape, first, last)
    assert (backward.used - 1) * first.factor + first.taps <= backward.middle_size
    assert (backward.middle_size + last.taps - 2) // last.factor + 2 <= backward.gradient_size


@pytest.mark.parametrize("facts", [GPU, SMALL_GPU])
def test_more_shared_memory_than_a_device_has_is_never_planned(facts: DeviceFacts) -> None:
    for up, taps in ((2, 12), (4, 24)):
        plan = plan_middle(
            (1, 362, 86, 86),
            Stage(up, taps, 1),
            Stage(2, 12, 1),
            facts,
            element_bytes=4,
            is_channels_last=False,
        )
        tile = 4 * plan.block_c * plan.middle_size * max(plan.middle_size, plan.in_size)
        assert 2 * tile <= facts.shared_memory_bytes
