from gantune.optimizing.halving import HOPELESS_RATIO, RUNGS, make_eliminator


def rounds(n: int, **medians_ms: float) -> dict[str, list[float]]:
    return {name: [median] * n for name, median in medians_ms.items()}


def test_nothing_stops_between_the_rungs() -> None:
    eliminate = make_eliminator({})
    for n in set(range(1, 12)) - set(RUNGS):
        assert eliminate(rounds(n, tuned=100, a=1, b=50, c=60, d=70)) == {}


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
