"""What could be tried at all: every plan of every backend, integers, and techniques that need more than this.

An offer that cannot be tried here says what is missing; it still appears in the plan, so that a person sees
what the decision tree would have chosen.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec

from gantune.backends import Backend
from gantune.backends.steps import constant_weights
from gantune.records.artifact import Precision
from gantune.records.plan import Step
from gantune.transforms.pruning import CHAINS, DEFAULT_SHARE


@dataclass(frozen=True)
class Offer:
    """One way to run a network; `missing` says what is not installed, "" where it can be tried."""

    name: str
    engine: str
    precision: Precision
    steps: tuple[Step, ...]
    missing: str = ""
    is_cheap: bool = True
    is_pruned: bool = False


@dataclass(frozen=True)
class _Outside:
    """An engine or technique that has no backend here: the package it needs, and what is said without it."""

    engine: str
    precisions: tuple[Precision, ...]
    package: str
    missing: str
    found: str


_OUTSIDE: tuple[_Outside, ...] = (
    _Outside(
        engine="tensorrt",
        precisions=("fp16", "int8"),
        package="tensorrt",
        missing="not installed: pip install tensorrt, on a machine with an NVIDIA GPU",
        found="not installed: gantune has no TensorRT backend; use the ONNX file of --target cross-platform",
    ),
    _Outside(
        engine="litert",
        precisions=("int8",),
        package="ai_edge_litert",
        missing="not installed: pip install ai-edge-litert litert-torch",
        found="not installed: gantune has no LiteRT backend; use the ONNX file of --target cross-platform",
    ),
    _Outside(
        engine="prune",
        precisions=("fp32",),
        package="",
        missing=(
            f"not available here: only plain chains of convolutions ({', '.join(CHAINS)}) lose channels one "
            "layer at a time"
        ),
        found="",
    ),
)

# The form of up-convolutions that each engine has integer kernels for.
INTEGER_FORMS = {"openvino": "transposed", "onnxruntime": "subpixel"}
_INTEGER_RESTS: dict[str, tuple[Precision, ...]] = {"openvino": ("bf16", "fp32"), "onnxruntime": ("fp32",)}
# Their artifacts are compiled when they are loaded or built, which takes a minute.
_COMPILED = frozenset({"torch_compile", "aotinductor"})


def list_offers(family: str, backends: Sequence[Backend]) -> tuple[Offer, ...]:
    """List all offers for a family: the backends', integers, then what no backend here can do."""
    offers: list[Offer] = []
    for backend in backends:
        missing = backend.missing() or ""
        missing = missing and (
            missing if missing.startswith("not installed") else f"not installed: {missing}"
        )
        is_cheap = backend.name not in _COMPILED
        offers += [
            Offer(plan.name, backend.name, plan.precision, plan.steps, missing, is_cheap)
            for plan in backend.plans(family)
        ]
        if backend.name in INTEGER_FORMS and family in CHAINS:
            offers.append(_offer_pruning(backend.name, family, missing))
        if backend.name in INTEGER_FORMS and all(plan.precision != "int8" for plan in backend.plans(family)):
            offers += _offer_integers(backend.name, family, missing)
    known: set[str] = {backend.name for backend in backends}
    known |= {"prune"} if family in CHAINS else set()
    return (*offers, *_offer_outside(known))


def _offer_pruning(engine: str, family: str, missing: str) -> Offer:
    pruning = Step(kind="transform", name="prune", options={"share": DEFAULT_SHARE})
    return Offer(
        name=f"{engine}-pruned-int8",
        engine=engine,
        precision="int8",
        steps=(pruning, *_integer_steps(engine, family, "fp32")),
        missing=missing,
        is_pruned=True,
    )


def _integer_steps(engine: str, family: str, rest: str) -> tuple[Step, ...]:
    steps = constant_weights(family, INTEGER_FORMS[engine])
    return (*steps, Step(kind="quantize", name="static", options={"rest_precision": rest}))


def _offer_integers(engine: str, family: str, missing: str) -> list[Offer]:
    return [
        Offer(
            name=f"{engine}-int8" + ("" if rest == "fp32" else f"-{rest}"),
            engine=engine,
            precision="int8",
            steps=_integer_steps(engine, family, rest),
            missing=missing,
        )
        for rest in _INTEGER_RESTS[engine]
    ]


def _offer_outside(known: set[str]) -> list[Offer]:
    return [
        Offer(
            name=one.engine if one.engine == "prune" else f"{one.engine}-{precision}",
            engine=one.engine,
            precision=precision,
            steps=(),
            missing=one.found if one.package and find_spec(one.package) else one.missing,
        )
        for one in _OUTSIDE
        if one.engine not in known
        for precision in one.precisions
    ]
