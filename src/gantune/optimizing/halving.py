"""Successive halving: after a few rounds only the faster half goes on, and hopeless candidates stop at once.

Jamieson and Talwalkar 2016, with two differences. A candidate that is as fast as the slowest survivor, within
the noise of the rounds, goes on too. And a machine that is disturbed for a while must cost nobody the race:
other load only ever adds time, so a candidate is judged by its best round; rounds in which a baseline was
slower than at its best do not count; and nobody stops whose two best rounds do not agree.
"""

from collections.abc import Collection, Mapping, Sequence

from gantune.measuring.comparison import Eliminate, IsDecided

BASELINES = ("as_is", "tuned")
# A rung is reached with this many rounds that count.
RUNGS = (3, 6, 10)
# Slower than the leader by this much after the first rung: no noise seen here makes up for that.
HOPELESS_RATIO = 1.5
CLOSE_RATIO = 1.05
MIN_SURVIVORS = 2
# A baseline above its best round by this much: something else ran on the machine.
CALM_RATIO = 1.25
# The two best rounds of a candidate differ by less where neither was disturbed.
AGREE_RATIO = 1.15
_ROUNDS_TO_UNDO = 3
_ROUNDS_TO_LEAD = 6
# Below this gain over the tuned original, a candidate may still turn out not to be worth keeping.
_CLEAR_GAIN = 1.15

Rounds = Mapping[str, Sequence[float]]


def make_eliminator(outside: Mapping[str, str], *, is_speed_the_goal: bool = True) -> Eliminate:
    """Make the judge that `compare_subjects` asks after each round.

    `outside` maps candidates that cannot be kept whatever their speed to the reason; they stop after the
    first rung. Where speed is not the goal, the others are all timed to the end.
    """
    # Which rounds are calm changes as baselines find better ones; each rung halves once all the same.
    ahead = list(RUNGS)

    def eliminate(rounds_ms: Rounds) -> dict[str, str]:
        num_rounds = max(map(len, rounds_ms.values()), default=0)
        stopped = {}
        if num_rounds >= RUNGS[0]:
            reason = f"stopped after {num_rounds} rounds"
            stopped = {name: f"{reason}: {outside[name]}" for name in rounds_ms if name in outside}
        calm = find_calm_rounds(rounds_ms)
        if not is_speed_the_goal or not ahead or len(calm) < ahead[0] or num_rounds - 1 not in calm:
            return stopped
        ahead[:] = [rung for rung in RUNGS if rung > len(calm)]
        able = {
            name: sorted(rounds[index] for index in calm)
            for name, rounds in rounds_ms.items()
            if name not in BASELINES and name not in outside
        }
        return stopped | _halve(able, num_rounds)

    return eliminate


def make_undoer(leader: str, changed: str) -> IsDecided:
    """Make the judge that ends the rounds where a change is slower than its leader beyond doubt."""

    def is_decided(rounds_ms: Rounds) -> bool:
        calm = find_calm_rounds(rounds_ms)
        if len(calm) < _ROUNDS_TO_UNDO or leader not in rounds_ms or changed not in rounds_ms:
            return False
        ratios = [rounds_ms[changed][index] / rounds_ms[leader][index] for index in calm]
        best = min(rounds_ms[changed]) / min(rounds_ms[leader])
        return min(*ratios, best) > CLOSE_RATIO

    return is_decided


def make_finder(outside: Collection[str]) -> IsDecided:
    """Make the judge that ends the rounds where one candidate leads beyond doubt, the tuned original too.

    `outside` are those that cannot be kept whatever their speed.
    """

    def is_decided(rounds_ms: Rounds) -> bool:
        calm = find_calm_rounds(rounds_ms)
        able = {
            name: sorted(rounds[index] for index in calm)
            for name, rounds in rounds_ms.items()
            if name not in BASELINES and name not in outside
        }
        if len(calm) < _ROUNDS_TO_LEAD or not able or "tuned" not in rounds_ms:
            return False
        leader, *others = sorted(able, key=lambda name: able[name][0])
        best_ms = able[leader][0]
        is_ahead = all(able[name][0] > CLOSE_RATIO * best_ms and _is_settled(able[name]) for name in others)
        return is_ahead and min(rounds_ms["tuned"]) > _CLEAR_GAIN * best_ms

    return is_decided


def find_calm_rounds(rounds_ms: Rounds) -> tuple[int, ...]:
    """List the rounds in which every baseline was near its best; all of them where there is no baseline.

    On a machine that is never calm all of them count from the last rung on: it will not become calmer.
    """
    num_rounds = min(map(len, rounds_ms.values()), default=0)
    baselines = [rounds_ms[name] for name in BASELINES if name in rounds_ms]
    calm = tuple(
        index
        for index in range(num_rounds)
        if all(rounds[index] <= CALM_RATIO * min(rounds) for rounds in baselines)
    )
    is_never_calm = num_rounds >= RUNGS[-1] and len(calm) < num_rounds / 2
    return tuple(range(num_rounds)) if is_never_calm else calm


def _halve(ordered_ms: Mapping[str, Sequence[float]], num_rounds: int) -> dict[str, str]:
    """Name those to stop; each candidate's rounds are ordered, the best first."""
    order = sorted(ordered_ms, key=lambda name: ordered_ms[name][0])
    if len(order) <= 1:
        return {}
    leader = order[0]
    num_kept = max(MIN_SURVIVORS, -(-len(order) // 2))
    limit_ms = CLOSE_RATIO * ordered_ms[order[min(num_kept, len(order)) - 1]][0]
    stopped = {}
    for name in order[1:]:
        best_ms = ordered_ms[name][0]
        ratio = best_ms / ordered_ms[leader][0]
        is_slow = best_ms > limit_ms or ratio > HOPELESS_RATIO
        if is_slow and _is_settled(ordered_ms[name]):
            stopped[name] = f"stopped after {num_rounds} rounds: {leader} is {ratio:.2f}× as fast"
    return stopped


def _is_settled(ordered_ms: Sequence[float]) -> bool:
    """Say whether the two best rounds agree, so that the best one was no more disturbed than the other."""
    return ordered_ms[1] <= AGREE_RATIO * ordered_ms[0]
