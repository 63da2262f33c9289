import random
from collections.abc import Callable

import pytest

from gantune.measuring.comparison import Eliminate
from gantune.optimizing.halving import (
    HOPELESS_RATIO,
    RUNGS,
    find_calm_rounds,
    make_eliminator,
    make_finder,
    make_undoer,
)


def rounds(n: int, **times_ms: float) -> dict[str, list[float]]:
    return {name: [time] * n for name, time in times_ms.items()}


def test_nothing_stops_between_the_rungs() -> None:
    eliminate = make_eliminator({})
    for n in range(1, 12):
        assert bool(eliminate(rounds(n, tuned=100, a=1, b=50, c=60, d=70))) is (n in RUNGS)


def test_a_rung_halves_once_though_a_better_round_makes_calm_ones_fewer() -> None:
    eliminate = make_eliminator({})
    tuned = [100.0, 100, 100, 70, 70, 70, 70, 70]
    others = {"a": 10.0, "b": 11.0, "c": 12.0, "d": 13.0}
    stops = []
    for n in range(1, len(tuned) + 1):
        found = eliminate({"tuned": tuned[:n], **{name: [time] * n for name, time in others.items()}})
        stops.append(set(found))
    # Three calm rounds after the third, and again after the sixth, when the first three count no more.
    assert stops == [set(), set(), {"c", "d"}, set(), set(), set(), set(), set()]


def test_a_rung_is_not_missed_where_the_number_of_calm_rounds_jumps() -> None:
    eliminate = make_eliminator({})
    others = {"a": [10.0] * 4, "b": [11.0] * 4, "c": [12.0] * 4, "d": [13.0] * 4}
    assert set(eliminate({"tuned": [100.0] * 4, **others})) == {"c", "d"}


def test_the_slower_half_stops_and_says_how_much_slower_it_is() -> None:
    stopped = make_eliminator({})(rounds(RUNGS[0], as_is=90, tuned=80, a=10, b=11, c=12, d=13))
    assert set(stopped) == {"c", "d"}
    assert "a is 1.30× as fast" in stopped["d"]


def test_baselines_and_the_last_two_always_go_on() -> None:
    assert make_eliminator({})(rounds(RUNGS[-1], as_is=900, tuned=800, a=10, b=14)) == {}
    assert make_eliminator({})(rounds(RUNGS[0], as_is=900, tuned=800, a=10)) == {}


def test_one_that_is_as_fast_as_the_slowest_survivor_goes_on() -> None:
    stopped = make_eliminator({})(rounds(RUNGS[0], a=10, b=11, c=11.3, d=14.9))
    assert set(stopped) == {"d"}


def test_a_hopeless_one_stops_though_it_is_in_the_faster_half() -> None:
    slow = 10 * HOPELESS_RATIO + 0.1
    assert set(make_eliminator({})(rounds(RUNGS[0], a=10, b=slow))) == {"b"}


def test_one_outside_the_budget_stops_for_that_and_halves_nobody() -> None:
    eliminate = make_eliminator({"a": "image error 20.0 dB is below 40 dB"})
    stopped = eliminate(rounds(RUNGS[0], a=1, b=10, c=11))
    assert set(stopped) == {"a"}
    assert "20.0 dB" in stopped["a"]


def test_where_speed_is_not_the_goal_only_those_outside_the_budget_stop() -> None:
    eliminate = make_eliminator({"a": "outside"}, is_speed_the_goal=False)
    assert set(eliminate(rounds(RUNGS[0], a=1, b=10, c=100, d=200))) == {"a"}


def test_a_round_in_which_a_baseline_moved_does_not_count() -> None:
    measured = {"as_is": [90, 90, 91, 90], "tuned": [80, 120, 81, 82], "a": [10, 10, 10, 10]}
    assert find_calm_rounds(measured) == (0, 2, 3)
    assert find_calm_rounds({"a": [1.0, 9.0]}) == (0, 1)


def test_on_a_machine_that_is_never_calm_the_last_rung_counts_all_rounds() -> None:
    restless = [100.0, *(200.0 + index for index in range(9))]
    assert find_calm_rounds({"tuned": restless[:9]}) == (0,)
    assert find_calm_rounds({"tuned": restless}) == tuple(range(10))


def test_a_moved_baseline_puts_the_rung_off_by_its_round() -> None:
    disturbed = {"tuned": [80.0, 160.0, 80.0], "a": [10.0] * 3, "b": [25.0] * 3}
    eliminate = make_eliminator({})
    assert eliminate(disturbed) == {}
    assert set(eliminate({name: [*times, times[0]] for name, times in disturbed.items()})) == {"b"}


def test_the_best_candidate_survives_rounds_in_which_it_alone_was_disturbed() -> None:
    measured = {"tuned": [100.0] * 3, "best": [38.0, 172.0, 61.0], "b": [30.0] * 3, "c": [31.0] * 3}
    assert make_eliminator({})(measured) == {}
    recovered = {"tuned": [100.0] * 6, "best": [38.0, 172.0, 61.0, 25.0, 25.1, 90.0]}
    assert "best" not in make_eliminator({})(recovered | rounds(6, b=30.0, c=31.0))


def test_one_that_was_undisturbed_once_is_judged_by_that_round() -> None:
    measured = {"tuned": [100.0] * 3, "best": [25.0, 170.0, 160.0], "b": [40.0] * 3, "c": [41.0] * 3}
    assert set(make_eliminator({})(measured)) == {"b", "c"}


TRUE_MS = {"as_is": 180.0, "tuned": 105.0, "best": 25.0, "b": 31.0, "c": 40.0, "d": 64.0, "e": 66.0}


def survivors(eliminate: Eliminate, slow_down: Callable[[int, str], float]) -> tuple[set[str], int]:
    """Run 15 rounds; return who was never stopped, and how many visits there were."""
    measured: dict[str, list[float]] = {name: [] for name in TRUE_MS}
    num_visits = 0
    for index in range(15):
        for name, times in measured.items():
            times.append(TRUE_MS[name] * slow_down(index, name))
            num_visits += 1
        for name in eliminate(measured):
            del measured[name]
    return set(measured), num_visits


def test_a_quiet_machine_takes_no_more_visits_than_plain_halving() -> None:
    noise = random.Random(0)
    found, num_visits = survivors(make_eliminator({}), lambda index, name: noise.uniform(1, 1.03))
    assert found == {"as_is", "tuned", "best", "b"}
    # Five candidates and two baselines for three rounds, then two and two.
    assert num_visits == 3 * 7 + 12 * 4


@pytest.mark.parametrize("num_disturbed", [3, 6, 9])
def test_other_load_in_the_first_rounds_does_not_stop_the_best(num_disturbed: int) -> None:
    """Load that comes and goes slows each visit between 1 and 7 times, as it was once seen."""
    lost = 0
    for seed in range(100):
        load = random.Random(seed)

        def slow_down(index: int, name: str, load: random.Random = load) -> float:
            is_hit = index < num_disturbed and load.random() < 0.7
            return load.uniform(1.2, 7.0) if is_hit else load.uniform(1.0, 1.03)

        found, _ = survivors(make_eliminator({}), slow_down)
        lost += "best" not in found
    assert lost <= 1


def test_the_rounds_end_when_one_leads_beyond_doubt() -> None:
    is_decided = make_finder(["outside"])
    clear = rounds(6, as_is=200, tuned=100, a=10, b=10.6, outside=1)
    assert is_decided(clear)
    assert not is_decided({name: times[:5] for name, times in clear.items()})
    assert not is_decided(clear | rounds(6, b=10.4))
    assert not is_decided(clear | rounds(6, tuned=11.4))
    assert not is_decided(clear | {"b": [12.0, 90.0, 80.0, 70.0, 60.0, 50.0]})
    assert not is_decided(clear | {"tuned": [100.0, 100.0, 150.0, 100.0, 100.0, 100.0]})
    assert not is_decided(rounds(6, as_is=200, tuned=100))


def test_a_change_that_is_slower_in_every_round_ends_after_three() -> None:
    is_decided = make_undoer("a", "a+x")
    slower = rounds(3, tuned=100, a=10) | {"a+x": [10.6, 10.7, 10.8]}
    assert is_decided(slower)
    assert not is_decided({name: times[:2] for name, times in slower.items()})
    assert not is_decided(slower | {"a+x": [10.6, 10.4, 10.8]})
    assert not is_decided(rounds(9, tuned=100, a=10) | {"a+x": [9.0] * 9})


def test_a_change_is_not_undone_for_disturbed_rounds() -> None:
    is_decided = make_undoer("a", "a+x")
    assert not is_decided({"tuned": [100.0, 150.0, 100.0], "a": [10.0] * 3, "a+x": [12.0] * 3})
    assert not is_decided({"tuned": [100.0] * 3, "a": [30.0, 10.0, 10.0], "a+x": [40.0, 12.0, 10.2]})
    assert not is_decided({"tuned": [100.0] * 3, "a": [10.0] * 3})
