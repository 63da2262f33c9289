"""Mixed bit widths: each layer's bits chosen so that the sum of the single errors is least within a budget.

The errors of single layers add up nearly (they are small and independent), so the choice is a multiple-choice
knapsack (an integer program). It is solved exactly by dynamic programming over the sums that no other beats
in both cost and error, or greedily, one step of the best error saved for its cost at a time.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gantune.errors import UsageError
from gantune.records.quantization import SensitivityTable
from gantune.transforms.quantize import Calibration

CostOf = Callable[[str, int], float]
Chosen = dict[str, int]
# More sums than this are thinned out: a choice within 1/20000 of the budget's cost, instead of the exact one.
MOST_SUMS = 20_000


def stored_bytes(calibration: Calibration) -> CostOf:
    """Cost a layer by the bytes its weights take in a file."""
    return lambda layer, bits: calibration.layers[layer].num_weights * bits / 8


def mac_bits(calibration: Calibration, activation_bits: int) -> CostOf:
    """Cost a layer by its multiply-accumulates times the bits of both factors."""
    return lambda layer, bits: float(calibration.layers[layer].macs * bits * activation_bits)


def list_uniform(table: SensitivityTable, bits: int) -> Chosen:
    """Give every layer of the table the same bits."""
    return dict.fromkeys((row.layer for row in table.rows), bits)


def choose_within_budget(table: SensitivityTable, cost: CostOf, budget: float) -> Chosen:
    """Choose the bits with the least sum of errors whose costs stay within `budget`.

    Raise `UsageError` for a budget below that of the fewest bits of the table.
    """
    errors = _errors(table)
    refuse_impossible(errors, cost, budget)
    # What the layers still to come cost at least; nothing is kept that leaves them too little.
    ahead = sum(min(cost(layer, bits) for bits in choices) for layer, choices in errors.items())
    sums = [_Sum(0.0, 0.0, None)]
    for layer, choices in errors.items():
        ahead -= min(cost(layer, bits) for bits in choices)
        longer = [
            _Sum(before.cost + cost(layer, bits), before.error + error, (before, layer, bits))
            for before in sums
            for bits, error in choices.items()
            if before.cost + cost(layer, bits) + ahead <= budget * (1 + 1e-12)
        ]
        sums = _drop_dominated(longer, budget)
    return _walk_back(min(sums, key=lambda found: found.error))


@dataclass(frozen=True)
class _Sum:
    """The cost and error of one choice for the first layers, and where it came from."""

    cost: float
    error: float
    last: "tuple[_Sum, str, int] | None"


def _drop_dominated(sums: list[_Sum], budget: float) -> list[_Sum]:
    """Keep, from cheap to dear, each sum with less error than all cheaper ones; one a cell of many."""
    kept: list[_Sum] = []
    for found in sorted(sums, key=lambda found: (found.cost, found.error)):
        if kept and found.error >= kept[-1].error:
            continue
        is_same_cell = len(sums) > MOST_SUMS and kept and _cell(found, budget) == _cell(kept[-1], budget)
        if is_same_cell and len(kept) > 1:
            kept.pop()
        kept.append(found)
    return kept


def _cell(found: _Sum, budget: float) -> int:
    return int(found.cost / budget * MOST_SUMS)


def _walk_back(found: _Sum) -> Chosen:
    chosen: Chosen = {}
    while found.last is not None:
        found, layer, bits = found.last
        chosen[layer] = bits
    return dict(reversed(chosen.items()))


def choose_greedily(table: SensitivityTable, cost: CostOf, budget: float) -> Chosen:
    """Start from the fewest bits, and widen the layer that saves most error for its cost while it fits."""
    errors = _errors(table)
    refuse_impossible(errors, cost, budget)
    chosen = {layer: min(choices) for layer, choices in errors.items()}
    spent = sum(cost(layer, bits) for layer, bits in chosen.items())
    while True:
        steps = [
            (_gain(errors[layer], cost, layer, chosen[layer], bits), layer, bits)
            for layer, choices in errors.items()
            for bits in choices
            if bits > chosen[layer] and spent + cost(layer, bits) - cost(layer, chosen[layer]) <= budget
        ]
        best = max(steps, default=(0.0, "", 0))
        if best[0] <= 0:
            return chosen
        _, layer, bits = best
        spent += cost(layer, bits) - cost(layer, chosen[layer])
        chosen[layer] = bits


def _gain(choices: Mapping[int, float], cost: CostOf, layer: str, before: int, after: int) -> float:
    added = cost(layer, after) - cost(layer, before)
    return (choices[before] - choices[after]) / max(added, 1e-300)


def _errors(table: SensitivityTable) -> dict[str, dict[int, float]]:
    found: dict[str, dict[int, float]] = {}
    for row in table.rows:
        choices = found.setdefault(row.layer, {})
        choices[row.bits] = choices.get(row.bits, 0.0) + row.mean_square
    return found


def refuse_impossible(errors: Mapping[str, Mapping[int, float]], cost: CostOf, budget: float) -> None:
    """Raise `UsageError` for a budget below what the fewest bits of each layer's choices cost."""
    least = sum(min(cost(layer, bits) for bits in choices) for layer, choices in errors.items())
    if not budget >= least:
        narrowest: Sequence[int] = sorted({bits for choices in errors.values() for bits in choices})
        raise UsageError(
            f"The budget of {budget:,.4g} is impossible: {narrowest[0]} bits everywhere cost {least:,.4g} "
            "already. Allow more, or analyze fewer bits."
        )
