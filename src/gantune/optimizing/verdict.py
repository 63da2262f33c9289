"""The verdict on integers: kept only where they are faster here than the best float candidate."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gantune.machine import describe_machine
from gantune.optimizing.decide import KEEP_ABOVE_SPEEDUP
from gantune.records.measurement import Comparison

_VNNI = ("avx512_vnni", "avx_vnni", "amx_int8")
_ENOUGH_INTEGERS = 0.9


@dataclass(frozen=True)
class Verdict:
    """The winner, the best float candidate ("" where none was inside the gate), and the reason."""

    kept: str
    best_float: str
    is_int8_kept: bool
    sentence: str


def decide_int8(
    comparison: Comparison, *, integers: Sequence[str], floats: Sequence[str], shares: Mapping[str, float]
) -> Verdict:
    """Compare the fastest integer candidate with the fastest float one, by their paired median ratio."""
    best_float = _fastest(comparison, floats)
    best_int8 = _fastest(comparison, integers)
    if best_int8 == "":
        sentence = "int8 is not kept: no integer candidate is inside the gate."
        return Verdict(best_float, best_float, False, sentence)
    if best_float == "":
        return Verdict(best_int8, "", True, f"{best_int8} is kept: no float candidate is inside the gate.")
    ratio = comparison.speedups[best_int8][best_float]
    figure = f"{ratio.median:.2f}× ({ratio.low:.2f} to {ratio.high:.2f}) {best_float}"
    if ratio.median >= KEEP_ABOVE_SPEEDUP:
        return Verdict(best_int8, best_float, True, f"{best_int8} is kept: {figure}.")
    share = shares.get(best_int8, 0.0)
    sentence = f"int8 is not worth it here: {best_int8} is {figure}, and {KEEP_ABOVE_SPEEDUP} is needed; "
    return Verdict(best_float, best_float, False, sentence + _explain(share))


def _explain(share: float) -> str:
    if share < _ENOUGH_INTEGERS:
        return f"only {share:.0%} of the dense MACs run as integers."
    if not set(_VNNI) & set(describe_machine().instruction_sets):
        return "this processor has no integer dot product (VNNI)."
    return f"{share:.0%} of the dense MACs run as integers, so rounding between layers costs what they gain."


def _fastest(comparison: Comparison, names: Sequence[str]) -> str:
    timed = {name: comparison.speedups.get(name, {}).get("tuned") for name in names}
    known = {name: speedup.median for name, speedup in timed.items() if speedup is not None}
    return max(known, key=lambda name: known[name], default="")
