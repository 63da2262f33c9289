"""The decision tree: readable rules that propose or skip a candidate and say why; measurement decides."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from gantune.errors import UsageError
from gantune.records.plan import PlannedCandidate, Step

Goal = Literal["latency", "throughput"]
Precision = Literal["any", "fp32", "bf16"]

TARGETS = ("cpu",)
STYLE_FAMILIES = frozenset({"stylegan2", "stylegan3"})


@dataclass(frozen=True, kw_only=True)
class Situation:
    """What the rules look at: the network, the wish, and what this machine has.

    `engines` maps an engine's name to "" where it is available and to the reason where it is not.
    """

    family: str
    target: str
    goal: Goal
    precision: Precision
    engines: dict[str, str]
    has_bf16_instructions: bool

    def __post_init__(self) -> None:
        if self.target not in TARGETS:
            raise UsageError(f"The target {self.target!r} is unknown; the targets are: {', '.join(TARGETS)}.")


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One leaf of the tree: a candidate, when it makes sense, and the sentence that says why."""

    name: str
    engine: str
    precision: Literal["fp32", "bf16"]
    steps: Callable[[Situation], tuple[Step, ...]]
    why: str
    fits: Callable[[Situation], str] = lambda _: ""


def _transform(name: str, **options: str) -> Step:
    return Step(kind="transform", name=name, options=dict(options))


def _constant_weights(situation: Situation, form: str) -> tuple[Step, ...]:
    """Freeze everything that does not depend on the input; make modulated weights constants."""
    steps: tuple[Step, ...] = (_transform("freeze"),)
    if situation.family in STYLE_FAMILIES:
        steps += (_transform("static_modulation"),)
    if situation.family == "stylegan2":
        steps += (_transform("resampling", form=form),)
    return steps


def _graph(form: str) -> Callable[[Situation], tuple[Step, ...]]:
    def steps(situation: Situation) -> tuple[Step, ...]:
        return (*_constant_weights(situation, form), Step(kind="export", name="onnx"))

    return steps


def _program(precision: str) -> Callable[[Situation], tuple[Step, ...]]:
    def steps(situation: Situation) -> tuple[Step, ...]:
        chain = _constant_weights(situation, "transposed")
        if precision != "fp32":
            chain += (_transform("precision", dtype=precision),)
        return (*chain, _transform("layout", memory_format="channels_last"))

    return steps


def _needs_stylegan2(situation: Situation) -> str:
    return "" if situation.family == "stylegan2" else "only StyleGAN2's up-convolutions have this form"


RULES: tuple[Rule, ...] = (
    Rule(
        name="openvino-bf16",
        engine="openvino",
        precision="bf16",
        steps=_graph("transposed"),
        why="the widest fusion, and dense convolutions in bfloat16",
    ),
    Rule(
        name="torch-bf16",
        engine="torch",
        precision="bf16",
        steps=_program("bf16"),
        why="dense channels-last convolutions in bfloat16, filters and sums in float32",
    ),
    Rule(
        name="openvino-fp32",
        engine="openvino",
        precision="fp32",
        steps=_graph("transposed"),
        why="constant weights let the engine fuse scale, bias and activation into each convolution",
    ),
    Rule(
        name="torch-fp32",
        engine="torch",
        precision="fp32",
        steps=_program("fp32"),
        why="channels-last convolutions with constant weights",
    ),
    Rule(
        name="onnxruntime-fp32",
        engine="onnxruntime",
        precision="fp32",
        steps=_graph("transposed"),
        why="runs everywhere ONNX does",
    ),
    Rule(
        name="onnxruntime-fp32-subpixel",
        engine="onnxruntime",
        precision="fp32",
        steps=_graph("subpixel"),
        why="four phase convolutions instead of a transposed one, which this engine runs slowly",
        fits=_needs_stylegan2,
    ),
    Rule(
        name="torch-compile-fp32",
        engine="torch_compile",
        precision="fp32",
        steps=_program("fp32"),
        why="the compiler fuses what stands between the convolutions",
    ),
)


def plan_candidates(situation: Situation) -> tuple[PlannedCandidate, ...]:
    """Walk the rules in order; a skipped rule stays in the plan with its reason."""
    return tuple(_judge(rule, situation) for rule in RULES)


def _judge(rule: Rule, situation: Situation) -> PlannedCandidate:
    reason = _reason_to_skip(rule, situation)
    return PlannedCandidate(
        name=rule.name,
        engine=rule.engine,
        precision=rule.precision,
        steps=rule.steps(situation),
        why=reason or rule.why,
        is_skipped=bool(reason),
    )


def _reason_to_skip(rule: Rule, situation: Situation) -> str:
    unavailable = situation.engines.get(rule.engine, "not installed")
    if unavailable:
        return f"skipped: {rule.engine} is not available here ({unavailable})"
    if situation.precision not in ("any", rule.precision):
        return f"skipped: --precision {situation.precision} was asked for"
    if rule.precision == "bf16" and not situation.has_bf16_instructions:
        return "skipped: this processor has no bfloat16 instructions, so bfloat16 would be slower"
    misfit = rule.fits(situation)
    return f"skipped: {misfit}" if misfit else ""
