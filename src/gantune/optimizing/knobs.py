"""The changes that can still be made to a candidate that leads: each alters one step of its plan."""

from collections.abc import Callable
from dataclasses import dataclass

from gantune.optimizing.build import count_threads, is_allocator_tuned
from gantune.records.plan import PlannedCandidate, Step

FORMS = ("transposed", "subpixel", "merged")


@dataclass(frozen=True)
class Knob:
    """One change: its name, what it addresses, when it can be made, and how.

    `addresses` are words in the name of a bottleneck; a knob that addresses the bottleneck is tried first.
    """

    name: str
    why: str
    addresses: tuple[str, ...]
    applies: Callable[[PlannedCandidate, int], bool]
    alter: Callable[[PlannedCandidate, int], tuple[Step, ...]]


def _replace(planned: PlannedCandidate, name: str, step: Step) -> tuple[Step, ...]:
    return tuple(step if old.name == name else old for old in planned.steps)


def _option(planned: PlannedCandidate, name: str, option: str) -> object:
    return next((step.options.get(option) for step in planned.steps if step.name == name), None)


def _make_form(form: str, why: str) -> Knob:
    return Knob(
        name=form,
        why=why,
        addresses=("UpConvolution", "Deconvolution", "ConvTranspose", "GroupConvolution"),
        applies=lambda planned, threads: (
            _option(planned, "resampling", "form") not in (None, form)
            and _option(planned, "fusion", "products") is None
            and planned.precision != "int8"
        ),
        alter=lambda planned, threads: _replace(
            planned, "resampling", Step(kind="transform", name="resampling", options={"form": form})
        ),
    )


KNOBS: tuple[Knob, ...] = (
    _make_form("subpixel", "up-sampling as four plain convolutions, which the engine may run better"),
    _make_form(
        "merged", "the filter inside the up-convolution: four times the products, one pass over memory"
    ),
    Knob(
        name="half-threads",
        why="small layers wait for each other's threads more than they gain",
        addresses=("Fully", "MatMul", "Gemm", "Linear", "Reorder", "Eltwise", "Mul", "Add"),
        applies=lambda planned, threads: count_threads(planned, threads) > 1,
        alter=lambda planned, threads: (
            *(step for step in planned.steps if step.name != "threads"),
            Step(
                kind="environment",
                name="threads",
                options={"count": count_threads(planned, threads) // 2},
            ),
        ),
    ),
    Knob(
        name="default-allocator",
        why="a network with small tensors needs no memory kept for it",
        addresses=(),
        applies=lambda planned, threads: is_allocator_tuned(planned),
        alter=lambda planned, threads: _replace(
            planned, "allocator", Step(kind="environment", name="allocator", options={"tuned": False})
        ),
    ),
    Knob(
        name="contiguous",
        why="layouts are converted at each layer that has no channels-last kernel",
        addresses=("Upsample", "PixelShuffle", "Reorder", "ConvTranspose"),
        applies=lambda planned, threads: (
            _option(planned, "layout", "memory_format") == "channels_last"
            and _option(planned, "fusion", "products") is None
        ),
        alter=lambda planned, threads: tuple(step for step in planned.steps if step.name != "layout"),
    ),
)


def list_changes(
    planned: PlannedCandidate, *, threads: int, bottleneck: str, tried: frozenset[str]
) -> tuple[tuple[Knob, PlannedCandidate], ...]:
    """List the changes to a candidate that were not tried, those that address its bottleneck first."""
    open_knobs = [knob for knob in KNOBS if knob.name not in tried and knob.applies(planned, threads)]
    ranked = sorted(open_knobs, key=lambda knob: not any(word in bottleneck for word in knob.addresses))
    return tuple((knob, _apply(knob, planned, threads)) for knob in ranked)


def list_variants(planned: PlannedCandidate, *, threads: int) -> tuple[PlannedCandidate, ...]:
    """List a candidate with every combination of its knobs: the space of an exhaustive search."""
    variants = {planned.name: planned}
    for knob in KNOBS:
        for variant in tuple(variants.values()):
            has_form = _option(variant, "resampling", "form") != _option(planned, "resampling", "form")
            if knob.applies(variant, threads) and not (knob.name in FORMS and has_form):
                altered = _apply(knob, variant, threads)
                variants[altered.name] = altered
    return tuple(variants.values())


def is_same_way(planned: PlannedCandidate, other: PlannedCandidate) -> bool:
    """Say whether two candidates differ in their names alone."""
    return (planned.engine, planned.precision, planned.steps) == (other.engine, other.precision, other.steps)


def _apply(knob: Knob, planned: PlannedCandidate, threads: int) -> PlannedCandidate:
    return planned.model_copy(
        update={
            "name": f"{planned.name}+{knob.name}",
            "steps": knob.alter(planned, threads),
            "why": f"{planned.name}, changed: {knob.why}",
        }
    )
