"""Successive halving: after a few rounds only the faster half goes on, and hopeless candidates stop at once.

Jamieson and Talwalkar 2016, with one difference: a candidate that is as fast as the slowest survivor, within
the noise of the rounds, goes on too.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from gantune.measuring.comparison import Eliminate

BASELINES = ("as_is", "tuned")
RUNGS = (3, 6, 10)
# Slower than the leader by this much after the first rung: no noise seen here makes up for that.
HOPELESS_RATIO = 1.5
CLOSE_RATIO = 1.05
MIN_SURVIVORS = 2


def make_eliminator(outside: Mapping[str, str], *, is_speed_the_goal: bool = True) -> Eliminate:
    """Make the judge that `compare_subjects` asks after each round.

    `outside` maps candidates that cannot be kept whatever their speed to the reason; they stop after the
    first rung. Where speed is not the goal, the others are all timed to the end.
    """

    def eliminate(rounds_ms: Mapping[str, Sequence[float]]) -> dict[str, str]:
        num_rounds = max(map(len, rounds_ms.values()), default=0)
        if num_rounds not in RUNGS:
            return {}
        stopped = {
            name: f"stopped after {num_rounds} rounds: {outside[name]}"
            for name in rounds_ms
            if name in outside
        }
        able = {
            name: float(np.median(rounds))
            for name, rounds in rounds_ms.items()
            if name not in BASELINES and name not in outside
        }
        return stopped | (_halve(able, num_rounds) if is_speed_the_goal else {})

    return eliminate


def _halve(medians_ms: Mapping[str, float], num_rounds: int) -> dict[str, str]:
    order = sorted(medians_ms, key=lambda name: medians_ms[name])
    if len(order) <= 1:
        return {}
    leader = order[0]
    num_kept = max(MIN_SURVIVORS, -(-len(order) // 2))
    limit_ms = CLOSE_RATIO * medians_ms[order[min(num_kept, len(order)) - 1]]
    stopped = {}
    for name in order[1:]:
        ratio = medians_ms[name] / medians_ms[leader]
        if medians_ms[name] > limit_ms or ratio > HOPELESS_RATIO:
            stopped[name] = f"stopped after {num_rounds} rounds: {leader} is {ratio:.2f}× as fast"
    return stopped
