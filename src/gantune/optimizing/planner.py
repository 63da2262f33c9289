"""The decision tree: each backend says how it could run a network, readable rules say what makes sense here.

A rule that skips a candidate gives its reason; what remains is proposed, and measurement decides.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from gantune.backends import Backend
from gantune.backends import Plan as BackendPlan
from gantune.errors import UsageError
from gantune.records.plan import PlannedCandidate, Step

Goal = Literal["latency", "throughput"]
Precision = Literal["any", "fp32", "bf16"]

TARGETS = ("cpu",)
_BF16_INSTRUCTIONS = ("avx512_bf16", "amx_bf16", "bf16")


@dataclass(frozen=True, kw_only=True)
class Situation:
    """What the rules look at: the network, the wish, and what this machine has.

    Raises `UsageError` for a target that is not known.
    """

    family: str
    target: str
    goal: Goal
    precision: Precision
    instruction_sets: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.target not in TARGETS:
            raise UsageError(f"The target {self.target!r} is unknown; the targets are: {', '.join(TARGETS)}.")


@dataclass(frozen=True)
class SkipRule:
    """One branch of the tree: when it holds for a candidate, the candidate is skipped for `reason`."""

    holds: Callable[[Backend, BackendPlan, Situation], bool]
    reason: Callable[[Backend, Situation], str]


SKIP_RULES: tuple[SkipRule, ...] = (
    SkipRule(
        holds=lambda backend, plan, situation: not backend.is_available(),
        reason=lambda backend, situation: backend.missing() or "",
    ),
    SkipRule(
        holds=lambda backend, plan, situation: backend.name == "aotinductor",
        reason=lambda backend, situation: (
            "it runs what torch_compile runs, built ahead of time, which takes minutes; ask for it by name"
        ),
    ),
    SkipRule(
        holds=lambda backend, plan, situation: situation.precision not in ("any", plan.precision),
        reason=lambda backend, situation: f"--precision {situation.precision} was asked for",
    ),
    SkipRule(
        holds=lambda backend, plan, situation: (
            plan.precision == "bf16" and not set(_BF16_INSTRUCTIONS) & set(situation.instruction_sets)
        ),
        reason=lambda backend, situation: (
            "this processor has no bfloat16 instructions, so it would be slower"
        ),
    ),
)

PROPOSALS: dict[tuple[str, str], str] = {
    ("openvino", "bf16"): "fuses the most, with dense convolutions in bfloat16",
    ("openvino", "fp32"): "fuses scale, bias and activation into each convolution",
    ("torch", "bf16"): "channels-last bfloat16 convolutions; filters and sums stay float32",
    ("torch", "fp32"): "channels-last convolutions with constant weights",
    ("torch_compile", "fp32"): "the compiler fuses what stands between the convolutions",
    ("onnxruntime", "fp32"): "the engine that runs everywhere ONNX does",
}


def plan_candidates(situation: Situation, backends: Sequence[Backend]) -> tuple[PlannedCandidate, ...]:
    """Judge every way the backends offer; a skipped one stays in the plan with its reason."""
    return tuple(
        _judge(backend, plan, situation) for backend in backends for plan in backend.plans(situation.family)
    )


def _judge(backend: Backend, plan: BackendPlan, situation: Situation) -> PlannedCandidate:
    rule = next((rule for rule in SKIP_RULES if rule.holds(backend, plan, situation)), None)
    proposal = PROPOSALS.get((backend.name, plan.precision), "offered by its backend")
    # A run compares with the tuned original, so the artifact gets the same allocator.
    environment = Step(kind="environment", name="allocator", options={"tuned": True})
    return PlannedCandidate(
        name=plan.name,
        engine=backend.name,
        precision=plan.precision,
        steps=(*plan.steps, Step(kind="engine", name=backend.name), environment),
        why=proposal if rule is None else f"skipped: {rule.reason(backend, situation)}",
        is_skipped=rule is not None,
    )
