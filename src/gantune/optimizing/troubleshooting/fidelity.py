"""The leaves of "quality dropped"."""

from gantune.optimizing.assemble import read_budget
from gantune.optimizing.troubleshooting.case import Case
from gantune.optimizing.troubleshooting.leaf import Leaf
from gantune.quality.gate import find_image_violations
from gantune.records.candidate import Candidate
from gantune.records.plan import Step

_HIGH_SPECTRUM_DB = 3.0


def _worse(case: Case) -> list[tuple[Candidate, str]]:
    """List candidates whose pictures are outside the budget, with the bound."""
    report = case.report
    if report is None:
        return []
    found = []
    for one in report.candidates:
        if one.quality is None:
            continue
        bounds = find_image_violations(read_budget(report.plan), one.quality, image_error=report.image_error)
        if bounds:
            found.append((one, bounds[0]))
    return found


def _precision(case: Case, one: Candidate) -> str:
    assert case.report is not None
    return next((line.precision for line in case.report.plan.candidates if line.name == one.name), "fp32")


def _step(one: Candidate, name: str) -> Step | None:
    return next((step for step in one.plan if step.name == name or step.kind == name), None)


def _bits(case: Case) -> str:
    for one, bound in _worse(case):
        if _precision(case, one) == "int8" or _step(one, "quantize"):
            return f"{one.name} computes with 8-bit integers: {bound}"
    return ""


def _prune_ratio(case: Case) -> str:
    for one, bound in _worse(case):
        step = _step(one, "prune")
        if step is not None:
            share = step.options.get("share", "an unknown share")
            return f"{one.name} lost {share} of each layer's channels: {bound}"
    return ""


def _half_precision(case: Case) -> str:
    for one, bound in _worse(case):
        if _precision(case, one) in ("bf16", "fp16") and not _step(one, "prune"):
            return f"{one.name} computes in {_precision(case, one)}: {bound}"
    return ""


def _wrong_layer(case: Case) -> str:
    """Find a float32 candidate that is off: float32 transforms are exact, so that one of them went wrong."""
    report = case.report
    if report is None:
        return ""
    for one in report.candidates:
        is_plain = _precision(case, one) == "fp32" and not (_step(one, "quantize") or _step(one, "prune"))
        if is_plain and one.quality is not None and not one.quality.is_exact:
            where = report.first_divergence or "not known which"
            return (
                f"{one.name} is float32 and still off by {one.quality.max_abs:.2g}; "
                f"the first layer to differ: {where}"
            )
    return ""


def _extremes(case: Case) -> str:
    report = case.report
    bad = [] if report is None else [extreme.name for extreme in report.extremes if not extreme.is_finite]
    return f"not finite for {', '.join(bad)}" if bad else ""


def _spectrum(case: Case) -> str:
    report = case.report
    for one in report.candidates if report is not None else ():
        if one.quality is not None and one.quality.spectrum_db > _HIGH_SPECTRUM_DB:
            return f"{one.name} changes the power spectrum by {one.quality.spectrum_db:.1f} dB"
    return ""


LEAVES: tuple[Leaf, ...] = (
    Leaf(
        "quality dropped",
        "bit width",
        "Are 8 bits too few for a layer?",
        _bits,
        "gantune quantize reverts the most sensitive layers until the budget holds; calibrate on "
        "more samples, or let the rest run in bfloat16.",
    ),
    Leaf(
        "quality dropped",
        "prune ratio",
        "Were too many channels pruned?",
        _prune_ratio,
        "Prune less, or train longer after pruning.",
    ),
    Leaf(
        "quality dropped",
        "half precision",
        "Is half precision too coarse for a layer?",
        _half_precision,
        "Filters and sums have to stay float32: take the candidate whose convolutions alone are "
        "bfloat16, or --precision fp32.",
    ),
    Leaf(
        "quality dropped",
        "wrong layer",
        "Does an exact change alter the pictures?",
        _wrong_layer,
        "That is a fault of gantune or of the engine, not of the budget: report it with the layer's"
        " name, and leave that candidate.",
    ),
    Leaf(
        "quality dropped",
        "extreme inputs",
        "Does it overflow on extreme inputs?",
        _extremes,
        "Clamp the latents, or take a float32 candidate: half precision overflows first.",
    ),
    Leaf(
        "quality dropped",
        "spectrum",
        "Is fine detail lost or invented?",
        _spectrum,
        "Look at the report's spectrum: a fall at the right end is bad resampling or too few bits, "
        "a peak is a checkerboard. Bound it with --max-spectrum.",
    ),
)
