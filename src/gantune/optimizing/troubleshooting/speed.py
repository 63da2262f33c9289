"""The leaves of "not faster"."""

from gantune.optimizing.decide import KEEP_ABOVE_SPEEDUP
from gantune.optimizing.troubleshooting.case import Case
from gantune.optimizing.troubleshooting.leaf import Leaf
from gantune.records.candidate import Candidate

_NEEDED = {"bf16": ("avx512_bf16", "amx_bf16", "bf16"), "int8": ("avx512_vnni", "amx_int8", "i8mm")}
_DENSE_WORDS = ("Conv", "MatMul", "FullyConnected", "Gemm", "Modulated", "Linear", "Fused")
_MANY_FAULTS = 10_000
_LARGE_SHARE = 0.4


def _slow(case: Case) -> list[Candidate]:
    """List measured candidates whose lower end does not clear the bar."""
    if case.report is None:
        return []
    return [
        one
        for one in case.report.candidates
        if one.speedup_tuned is not None and not one.speedup_tuned.low > KEEP_ABOVE_SPEEDUP
    ]


def _asked_precision(case: Case, name: str) -> str:
    assert case.report is not None
    return next((line.precision for line in case.report.plan.candidates if line.name == name), "fp32")


def _acceleration(case: Case) -> str:
    if case.artifact is not None and _is_lost(case.artifact.precision, case.precision_used):
        return f"{case.artifact.engine} was told {case.artifact.precision} and runs {case.precision_used}"
    for one in _slow(case):
        asked = _asked_precision(case, one.name)
        if one.precision_used and _is_lost(asked, one.precision_used):
            return f"{one.name} was told {asked} and ran {one.precision_used}"
    return ""


def _is_lost(asked: str, used: str) -> bool:
    return asked in _NEEDED and asked not in used


def _instructions(case: Case) -> str:
    here = set(case.machine.instruction_sets)
    asked: list[str] = [case.artifact.precision] if case.artifact is not None else []
    if case.report is not None:
        asked += [_asked_precision(case, one.name) for one in _slow(case)]
    for precision in asked:
        if precision in _NEEDED and not here & set(_NEEDED[precision]):
            return f"{precision} needs one of {', '.join(_NEEDED[precision])}; this processor has none"
    return ""


def _threads(case: Case) -> str:
    cores = case.machine.num_cores
    limit = case.machine.environment.get("OMP_NUM_THREADS", "")
    if limit.isdigit() and int(limit) < cores:
        return f"OMP_NUM_THREADS={limit} on {cores} cores"
    chosen = None
    if case.artifact is not None:
        chosen = case.artifact.environment.threads
    elif case.report is not None:
        chosen = case.report.plan.threads
    if chosen is not None and chosen != cores:
        return f"it was timed with {chosen} threads; this machine has {cores} cores"
    return ""


def _allocator(case: Case) -> str:
    if case.artifact is not None:
        is_plain = case.artifact.environment.allocator == "default" and case.machine.allocator == "glibc"
        return (
            "it runs with glibc's allocator as it is, which maps every large tensor anew" if is_plain else ""
        )
    for one in _slow(case):
        faults = 0.0 if one.measured is None else one.measured.minor_faults
        if faults > _MANY_FAULTS:
            return f"{one.name} takes {faults:,.0f} page faults a call"
    return ""


def _leftovers(case: Case) -> str:
    """Find time that does not go into convolutions and products."""
    if case.report is None or not _slow(case):
        return ""
    for change in case.report.search.changes if case.report.search else ():
        sentence = change.bottleneck_before
        if sentence and not any(word in sentence.split(" layers")[0] for word in _DENSE_WORDS):
            return sentence
    other = [layer for layer in case.report.layers if not any(w in layer.kind for w in _DENSE_WORDS)]
    share = sum(layer.share for layer in other)
    if share > _LARGE_SHARE:
        return f"{share:.0%} of the original's time is in {other[0].kind} and the like, not in convolutions"
    return ""


def _noise(case: Case) -> str:
    for one in _slow(case):
        speedup = one.speedup_tuned
        if speedup is not None and speedup.median > KEEP_ABOVE_SPEEDUP:
            return (
                f"{one.name} has a median of {speedup.median:.2f}×, and an interval from "
                f"{speedup.low:.2f} to {speedup.high:.2f}"
            )
    return ""


LEAVES: tuple[Leaf, ...] = (
    Leaf(
        "not faster",
        "acceleration",
        "Does the engine really run in the precision it was told?",
        _acceleration,
        "The engine refused silently: update it, or take the candidate whose precision it does run.",
    ),
    Leaf(
        "not faster",
        "instructions",
        "Does this processor have instructions for that precision?",
        _instructions,
        "Take float32 here, or measure on the machine that it will run on.",
    ),
    Leaf(
        "not faster",
        "threads",
        "Does it use the cores there are?",
        _threads,
        "Unset the limit, or load with threads= the number of cores; then measure again with gantune bench.",
    ),
    Leaf(
        "not faster",
        "allocator",
        "Does memory get mapped anew at each call?",
        _allocator,
        "Load with tune_allocator=True, or set MALLOC_MMAP_THRESHOLD_ and MALLOC_TRIM_THRESHOLD_ as"
        " gantune doctor prints them.",
    ),
    Leaf(
        "not faster",
        "operators not optimized",
        "Is the time in operations that the engine did not speed up?",
        _leftovers,
        "No precision helps there. Fold them into the convolutions (constant weights, fusion), or "
        "try the engine that fuses them: the report's candidates say which does.",
    ),
    Leaf(
        "not faster",
        "noise",
        "Is the difference lost in the noise?",
        _noise,
        "Close what else runs on the machine, and repeat with more --rounds.",
    ),
)
