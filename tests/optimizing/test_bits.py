import itertools
import random

import pytest

from gantune.errors import UsageError
from gantune.optimizing.bits import (
    choose_greedily,
    choose_within_budget,
    list_uniform,
    mac_bits,
    stored_bytes,
)
from gantune.records.quantization import LayerSensitivity, SensitivityTable
from gantune.transforms.quantize import Calibration
from gantune.transforms.quantize.calibration import LayerRecord

BITS = (2, 4, 8)
# Errors that fall with bits, at a pace of each layer's own.
ERRORS = {
    "a": {2: 9.0, 4: 1.0, 8: 0.1},
    "b": {2: 2.0, 4: 1.9, 8: 0.0},
    "c": {2: 5.0, 4: 0.2, 8: 0.1},
    "d": {2: 0.3, 4: 0.2, 8: 0.1},
}
SIZES = {"a": 100, "b": 40, "c": 300, "d": 1000}
CALIBRATION = Calibration(
    {name: LayerRecord(name, "convolution", macs=7 * size, num_weights=size) for name, size in SIZES.items()},
    8,
)
COST = stored_bytes(CALIBRATION)
TABLE = SensitivityTable(
    family="test",
    num_samples=1,
    rows=tuple(
        LayerSensitivity(
            layer=name, part="weights", bits=bits, mean_square=error, psnr_db=1.0, snr_db=1.0, ssim=1.0,
            spectrum_db=0.0,
        )
        for name, choices in ERRORS.items()
        for bits, error in choices.items()
    ),
)  # fmt: skip


def total(chosen: dict[str, int]) -> float:
    return sum(ERRORS[name][bits] for name, bits in chosen.items())


def spent(chosen: dict[str, int]) -> float:
    return sum(SIZES[name] * bits / 8 for name, bits in chosen.items())


@pytest.mark.parametrize("budget", [360.0, 400.0, 555.0, 720.0, 1100.0, 1440.0])
def test_the_choice_is_the_one_that_trying_everything_finds(budget: float) -> None:
    every = (dict(zip(SIZES, bits, strict=True)) for bits in itertools.product(BITS, repeat=4))
    best = min(total(chosen) for chosen in every if spent(chosen) <= budget)
    found = choose_within_budget(TABLE, COST, budget)
    assert spent(found) <= budget
    assert total(found) == pytest.approx(best)
    greedy = choose_greedily(TABLE, COST, budget)
    assert spent(greedy) <= budget
    assert best - 1e-9 <= total(greedy) <= total(list_uniform(TABLE, 2))


def test_mixed_beats_uniform_at_equal_size() -> None:
    uniform = list_uniform(TABLE, 4)
    assert uniform == dict.fromkeys(SIZES, 4)
    mixed = choose_within_budget(TABLE, COST, spent(uniform))
    assert total(mixed) < total(uniform)


@pytest.mark.parametrize("choose", [choose_within_budget, choose_greedily])
def test_an_impossible_budget_is_refused(choose: object) -> None:
    with pytest.raises(UsageError, match="359 is impossible: 2 bits everywhere cost 360"):
        choose(TABLE, COST, 359.0)  # type: ignore[operator]


def test_costs_are_bytes_or_products_of_bits() -> None:
    assert COST("a", 4) == 50
    assert mac_bits(CALIBRATION, 8)("a", 4) == 700 * 4 * 8


def test_many_layers_are_chosen_quickly_and_no_worse_than_greedily() -> None:
    generator = random.Random(0)
    sizes = {f"layer {index}": generator.randint(1000, 2_000_000) for index in range(60)}
    records = {
        name: LayerRecord(name, "convolution", macs=size, num_weights=size) for name, size in sizes.items()
    }
    rows = [
        TABLE.rows[0].model_copy(update={"layer": name, "bits": bits, "mean_square": scale * 4.0**-bits})
        for name in sizes
        for scale in [generator.lognormvariate(0, 2)]
        for bits in (2, 3, 4, 6, 8)
    ]
    table = SensitivityTable(family="test", num_samples=1, rows=tuple(rows))
    cost = stored_bytes(Calibration(records, 8))
    uniform = list_uniform(table, 4)
    budget = sum(cost(name, bits) for name, bits in uniform.items())
    errors = {(row.layer, row.bits): row.mean_square for row in rows}

    def error(chosen: dict[str, int]) -> float:
        return sum(errors[item] for item in chosen.items())

    found, greedy = (choose(table, cost, budget) for choose in (choose_within_budget, choose_greedily))
    assert sum(cost(name, bits) for name, bits in found.items()) <= budget * (1 + 1e-9)
    assert error(found) <= error(greedy) * (1 + 1e-3) < error(uniform)
