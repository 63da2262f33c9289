"""Tile sizes and grids, as pure functions of shapes, factors and device facts; nothing is tried out.

Every block size is a power of two, because Triton's tensors are. Plans are cached: a network asks for the
same few again and again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Generic, TypeVar

from gantune.ops.triton.device_facts import DeviceFacts

# The smallest size of a matrix product on a GPU's matrix units.
SMALLEST_PRODUCT = 16
FEWEST_ELEMENTS = 256
# Planes that one program filters in turn, so that it builds its band matrices once.
MOST_UNITS = 16
# Channels that lie side by side in channels-last memory and are read together: a sector of 32 bytes.
CHANNELS_LAST_BLOCK = 8
# Channels that one tile may hold where each image is small.
MOST_CHANNELS = 32
# Taps beyond which a direct sum is a loop, because unrolled code would not fit the instruction cache.
MOST_UNROLLED_TAPS = 64
MIDDLE_SIZES = (16, 32, 64, 128, 256, 512)


@dataclass(frozen=True)
class PointwisePlan:
    """A tile of `block_rows` × `block_columns` elements for each of `num_programs`."""

    block_rows: int
    block_columns: int
    num_programs: int
    num_warps: int


@dataclass(frozen=True)
class DirectPlan:
    """Blocks over channels and over groups of output phases; tiles in each direction."""

    block_c: int
    block_y: int
    block_x: int
    tiles: tuple[int, int, int]
    num_warps: int


@dataclass(frozen=True)
class BandPlan:
    """Sizes of a tile for one band product: samples read, outputs written, channels, planes in turn."""

    in_size: tuple[int, int]
    out_size: tuple[int, int]
    block_c: int
    units: int
    tiles: tuple[int, int]
    num_programs: int
    num_warps: int


@dataclass(frozen=True)
class MiddlePlan:
    """Sizes of a square tile with an upsampled middle: `used` of the `out_size` results are written.

    `gradient_size` is how much of the incoming gradient a tile of the backward pass reads, else 0.
    """

    in_size: int
    middle_size: int
    out_size: int
    used: int
    gradient_size: int
    block_c: int
    units: int
    tiles: tuple[int, int]
    num_programs: int
    num_warps: int


@dataclass(frozen=True)
class Stage:
    """One resampling: factor up or down, and the taps of its filter along the longer axis and as terms."""

    factor: int
    taps: int
    terms: int


Plan = TypeVar("Plan", BandPlan, MiddlePlan)


@dataclass(frozen=True)
class _Candidate(Generic[Plan]):
    """A plan with what decides: channels side by side, shared memory at most, and cost."""

    plan: Plan
    block_c: int
    shared_bytes: int
    cost: float


@lru_cache(maxsize=4096)
def plan_pointwise(rows: int, columns: int, facts: DeviceFacts) -> PointwisePlan:
    """Plan one pass over memory of `rows` × `columns` elements."""
    elements = _tile_elements(rows * columns, facts)
    block_columns = min(round_up(columns), elements)
    block_rows = min(round_up(rows), elements // block_columns)
    num_programs = divide_up(rows, block_rows) * divide_up(columns, block_columns)
    return PointwisePlan(block_rows, block_columns, num_programs, _num_warps(block_rows * block_columns))


@lru_cache(maxsize=4096)
def plan_direct(
    shape: tuple[int, int, int, int], facts: DeviceFacts, *, is_channels_last: bool
) -> DirectPlan:
    """Plan a direct sum for `shape` = (N, C, groups of output rows, groups of output columns)."""
    N, C, height, width = shape
    elements = _tile_elements(N * C * height * width, facts)
    block_c = min(round_up(C), 64, elements) if is_channels_last else 1
    block_x = min(round_up(width), 64, elements // block_c)
    block_y = min(round_up(height), elements // block_c // block_x)
    block_c = min(round_up(C), elements // block_y // block_x)
    tiles = (divide_up(C, block_c), divide_up(height, block_y), divide_up(width, block_x))
    # Eight sums a thread: sixteen leave only two blocks on a multiprocessor (255 registers for 4 × 4 taps).
    return DirectPlan(block_c, block_y, block_x, tiles, _num_warps(2 * block_c * block_y * block_x))


@lru_cache(maxsize=4096)
def plan_band(
    shape: tuple[int, int, int, int],
    stages: tuple[tuple[int, int, int], tuple[int, int, int]],
    facts: DeviceFacts,
    *,
    terms: int,
    element_bytes: int,
    is_channels_last: bool,
) -> BandPlan:
    """Plan an upfirdn2d by band products for an output `shape` (N, C, H, W).

    `stages` gives up, down and taps along y and x; `element_bytes` is the size of what is computed with.
    """
    found: list[_Candidate[BandPlan]] = []
    for block_c, size in product(_channel_blocks(shape[1], is_channels_last), MIDDLE_SIZES):
        out_y, out_x = (min(size, max(SMALLEST_PRODUCT, round_up(extent))) for extent in shape[2:])
        in_y, in_x = _samples_read(out_y, *stages[0]), _samples_read(out_x, *stages[1])
        largest = block_c * max(in_y, out_y) * max(in_x, out_x)
        shared_bytes = element_bytes * (2 * (in_x * out_x + in_y * out_y) + 3 * largest)
        tiles = (divide_up(shape[2], out_y), divide_up(shape[3], out_x))
        units, num_programs = _group_planes(shape[0] * divide_up(shape[1], block_c), tiles, facts)
        macs = terms * block_c * out_x * in_y * (in_x + out_y)
        plan = BandPlan(
            (in_y, in_x), (out_y, out_x), block_c, units, tiles, num_programs, _num_warps(largest // 2)
        )
        found.append(_Candidate(plan, block_c, shared_bytes, _cost(num_programs, units, macs, facts)))
    return _choose(found, facts, is_channels_last=is_channels_last)


@lru_cache(maxsize=4096)
def plan_middle(
    shape: tuple[int, int, int, int],
    up: Stage,
    down: Stage,
    facts: DeviceFacts,
    *,
    element_bytes: int,
    is_channels_last: bool,
    is_gradient: bool = False,
) -> MiddlePlan:
    """Plan a filtered_lrelu for an output `shape` (N, C, H, W), or its gradient for an input `shape`.

    The larger the upsampled middle of a tile, the greater its share that is used.
    """
    last = up if is_gradient else down
    found: list[_Candidate[MiddlePlan]] = []
    for block_c, middle in product(_channel_blocks(shape[1], is_channels_last), MIDDLE_SIZES):
        used = (middle - last.taps) // last.factor + 1
        if used < 1:
            continue
        out_size = max(SMALLEST_PRODUCT, round_up(used))
        in_size = _samples_read(middle, up.factor, 1, up.taps)
        gradient_size = _samples_read(middle, down.factor, 1, down.taps) if is_gradient else 0
        matrices = 2 * middle * (in_size + out_size + gradient_size)
        largest = block_c * middle * max(middle, in_size, gradient_size)
        shared_bytes = element_bytes * (2 * matrices + 7 * largest)
        tiles = (divide_up(shape[2], used), divide_up(shape[3], used))
        units, num_programs = _group_planes(shape[0] * divide_up(shape[1], block_c), tiles, facts)
        macs = block_c * _middle_macs(in_size, middle, out_size, gradient_size, up, down)
        plan = MiddlePlan(
            in_size, middle, out_size, used, gradient_size, block_c, units, tiles, num_programs,
            _num_warps(middle * middle * block_c // 2),
        )  # fmt: skip
        found.append(_Candidate(plan, block_c, shared_bytes, _cost(num_programs, units, macs, facts)))
    return _choose(found, facts, is_channels_last=is_channels_last)


def round_up(size: int) -> int:
    """Return the smallest power of two that is at least `size`."""
    return 1 << max(0, size - 1).bit_length()


def divide_up(size: int, block: int) -> int:
    """Return how many blocks cover `size`."""
    return -(-size // block)


def _tile_elements(total: int, facts: DeviceFacts) -> int:
    """Take the largest tile that leaves every multiprocessor some programs."""
    share = total // facts.programs_wanted
    return min(max(round_up(share + 1) // 2, FEWEST_ELEMENTS), facts.most_elements)


def _num_warps(elements: int) -> int:
    return 4 if elements <= 2048 else 8


def _samples_read(out_size: int, up: int, down: int, taps: int) -> int:
    """Count the samples under a run of outputs, one more where its start is rounded down; a power of two."""
    reach = (out_size - 1) * down + taps - 1
    return max(SMALLEST_PRODUCT, round_up(reach // up + 2))


def _channel_blocks(channels: int, is_channels_last: bool) -> tuple[int, ...]:
    """List the numbers of channels that a tile may hold: powers of two, at most a sector of neighbors."""
    most = min(round_up(channels), CHANNELS_LAST_BLOCK if is_channels_last else MOST_CHANNELS)
    return tuple(1 << power for power in range(most.bit_length()))


def _choose(found: Sequence["_Candidate[Plan]"], facts: DeviceFacts, *, is_channels_last: bool) -> Plan:
    """Return the fastest plan that fits shared memory, among those that read whole sectors if any does.

    The bounds on shared memory are fitted from above to what the compiler reports for the official layers:
    matrices stay there as two parts each, the largest tile three or seven times.
    `tests/ops/triton/test_compiling.py` holds them to that.
    """
    fitting = [item for item in found if item.shared_bytes <= facts.shared_memory_bytes]
    if not fitting:
        return min(found, key=lambda item: item.shared_bytes).plan
    if is_channels_last:
        most = max(item.block_c for item in fitting)
        fitting = [item for item in fitting if item.block_c == most]
    return min(fitting, key=lambda item: item.cost).plan


def _group_planes(planes: int, tiles: tuple[int, int], facts: DeviceFacts) -> tuple[int, int]:
    """Let a program take several planes in turn where enough programs remain; return both numbers."""
    positions = tiles[0] * tiles[1]
    units = min(max(1, planes * positions // facts.programs_wanted), MOST_UNITS, planes)
    return units, divide_up(planes, units) * positions


def _middle_macs(in_size: int, middle: int, out_size: int, gradient_size: int, up: Stage, down: Stage) -> int:
    rise = middle * in_size * (in_size + middle) * up.terms
    if gradient_size == 0:
        return rise + middle * out_size * (middle + out_size) * down.terms
    rise += middle * gradient_size * (gradient_size + middle) * down.terms
    return rise + middle * out_size * (middle + out_size) * up.terms


def _cost(num_programs: int, units: int, macs: int, facts: DeviceFacts) -> float:
    rounds = divide_up(num_programs, facts.num_multiprocessors)
    return rounds * (facts.program_cost_macs + units * macs)
