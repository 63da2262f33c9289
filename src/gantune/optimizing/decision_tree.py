"""The decision tree, as data: three questions, and the branch that their answers lead to."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from gantune.optimizing.situation import Situation
from gantune.records.plan import Decision


@dataclass(frozen=True)
class Branch:
    """Where the tree ends: what to do, and with which engines and precisions, the most promising first."""

    name: str
    advice: str
    engines: tuple[str, ...]
    precisions: tuple[str, ...]


@dataclass(frozen=True)
class Answer:
    """One answer: when it holds, why, and what follows."""

    text: str
    holds: Callable[[Situation], bool]
    because: Callable[[Situation], str]
    then: "Question | Branch"


@dataclass(frozen=True)
class Question:
    """One question; its answers are tried in order, and the last one always holds."""

    text: str
    answers: tuple[Answer, ...]


Path: TypeAlias = tuple[Decision, ...]

CROSS_PLATFORM = Branch(
    name="cross-platform",
    advice="export to ONNX, and run it with ONNX Runtime wherever it has to run",
    engines=("onnxruntime",),
    precisions=("fp32", "int8"),
)
NVIDIA = Branch(
    name="nvidia",
    advice="build with TensorRT in half precision or integers",
    engines=("tensorrt",),
    precisions=("fp16", "int8"),
)
CONSTRAINED = Branch(
    name="constrained",
    advice="quantize to 8 bits and prune channels, then fine-tune",
    engines=("litert", "openvino", "onnxruntime", "torch", "prune"),
    precisions=("int8", "bf16", "fp32"),
)
EXACT = Branch(
    name="exact",
    advice="fold constants and fuse layers, all in float32",
    engines=("torch", "openvino", "onnxruntime", "torch_compile", "aotinductor"),
    precisions=("fp32",),
)
UTMOST_SPEED = Branch(
    name="utmost-speed",
    advice="combine constant weights, fusion, reduced precision, engine and allocator",
    engines=("openvino", "torch", "torch_compile", "onnxruntime", "aotinductor"),
    precisions=("bf16", "int8", "fp32"),
)

_EXACTNESS = Question(
    "Must the pictures stay exact?",
    (
        Answer(
            "exact",
            lambda situation: situation.precision == "fp32",
            lambda situation: "--precision fp32 was asked for",
            EXACT,
        ),
        Answer(
            "inside a budget",
            lambda situation: True,
            lambda situation: f"the budget allows a loss: {_word_budget(situation)}",
            UTMOST_SPEED,
        ),
    ),
)
_CONSTRAINT = Question(
    "What must shrink?",
    (
        Answer(
            "memory or size",
            lambda situation: situation.is_constrained,
            lambda situation: _word_constraint(situation),
            CONSTRAINED,
        ),
        Answer(
            "time",
            lambda situation: True,
            lambda situation: f"the goal is {situation.goal}, and nothing bounds memory or size",
            _EXACTNESS,
        ),
    ),
)
TREE = Question(
    "Where will it run?",
    (
        Answer(
            "on many platforms",
            lambda situation: situation.target == "cross-platform",
            lambda situation: "--target cross-platform: one file for every processor",
            CROSS_PLATFORM,
        ),
        Answer(
            "on an NVIDIA GPU",
            lambda situation: situation.target == "nvidia",
            lambda situation: "--target nvidia",
            NVIDIA,
        ),
        Answer(
            "on an edge device",
            lambda situation: situation.target == "edge",
            lambda situation: "--target edge: little memory, integer units",
            CONSTRAINED,
        ),
        Answer(
            "on a CPU like this one",
            lambda situation: True,
            lambda situation: "--target cpu",
            _CONSTRAINT,
        ),
    ),
)


def walk_tree(situation: Situation, tree: Question = TREE) -> tuple[Branch, Path]:
    """Answer each question for a situation; return the branch and the decisions on the way, in order."""
    path: list[Decision] = []
    at: Question | Branch = tree
    while isinstance(at, Question):
        taken = next(answer for answer in at.answers if answer.holds(situation))
        others = tuple(answer.text for answer in at.answers if answer is not taken)
        because = taken.because(situation)
        path.append(Decision(question=at.text, answer=taken.text, because=because, others=others))
        at = taken.then
    return at, tuple(path)


def _word_budget(situation: Situation) -> str:
    bounds = situation.budget.as_record()
    return ", ".join(f"{name.replace('_', ' ')} {bound:g}" for name, bound in bounds.items()) or "no bound"


def _word_constraint(situation: Situation) -> str:
    if situation.goal in ("memory", "size"):
        return f"the goal is {situation.goal}"
    return f"the budget bounds it: {_word_budget(situation)}"
