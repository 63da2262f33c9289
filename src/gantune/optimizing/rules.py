"""The rules that judge an offer, as data: each names itself, says when it holds, and gives its reason.

They are tried in order and the first that holds decides. What remains is proposed, and measurement decides.
"""

from collections.abc import Callable
from dataclasses import dataclass

from gantune.optimizing.decision_tree import Branch
from gantune.optimizing.offers import Offer
from gantune.optimizing.situation import Situation

# Eight bits a value leave about this much between a picture and its rounded form at best.
_MOST_INTEGER_DB = 48.0
_LARGE_MACS = 20e9
_MINUTES_TO_COMPILE = 5.0


@dataclass(frozen=True)
class SkipRule:
    """One reason not to try an offer."""

    name: str
    holds: Callable[[Offer, Branch, Situation], bool]
    reason: Callable[[Offer, Branch, Situation], str]


SKIP_RULES: tuple[SkipRule, ...] = (
    SkipRule(
        "branch",
        lambda offer, branch, situation: offer.engine not in branch.engines,
        lambda offer, branch, situation: f"not on the branch {branch.name}: {branch.advice}",
    ),
    SkipRule(
        "pruning where nothing must shrink",
        lambda offer, branch, situation: offer.is_pruned and branch.name != "constrained",
        lambda offer, branch, situation: (
            "fewer channels cost pictures that a run cannot train back; only where memory or size must shrink"
        ),
    ),
    SkipRule(
        "precision asked for",
        lambda offer, branch, situation: situation.precision not in ("any", offer.precision),
        lambda offer, branch, situation: f"--precision {situation.precision} was asked for",
    ),
    SkipRule(
        "precision of the branch",
        lambda offer, branch, situation: offer.precision not in branch.precisions,
        lambda offer, branch, situation: (
            f"the branch {branch.name} uses {', '.join(branch.precisions)}, not {offer.precision}"
        ),
    ),
    SkipRule(
        "ahead of time",
        lambda offer, branch, situation: offer.engine == "aotinductor",
        lambda offer, branch, situation: (
            "it runs what torch_compile runs, built ahead of time, which takes minutes; ask for it by name"
        ),
    ),
    SkipRule(
        "compiling on a device that must stay small",
        lambda offer, branch, situation: branch.name == "constrained" and not offer.is_cheap,
        lambda offer, branch, situation: "it needs a compiler and torch where it runs",
    ),
    SkipRule(
        "no time to compile",
        lambda offer, branch, situation: (
            not offer.is_cheap
            and situation.budget_minutes is not None
            and situation.budget_minutes < _MINUTES_TO_COMPILE
        ),
        lambda offer, branch, situation: (
            f"compiling takes a minute or more; --budget-minutes gives {situation.budget_minutes:g} in all"
        ),
    ),
    SkipRule(
        "another engine fuses as much",
        lambda offer, branch, situation: offer.engine == "torch_compile" and "openvino" in situation.engines,
        lambda offer, branch, situation: (
            "OpenVINO, which is installed, fuses as much, and needs no compiler and no minute where it runs"
        ),
    ),
    SkipRule(
        "no integer transposed convolution",
        lambda offer, branch, situation: (
            offer.precision == "int8" and offer.engine == "onnxruntime" and situation.family == "dcgan"
        ),
        lambda offer, branch, situation: (
            "ONNX Runtime has no integer transposed convolution, and this network is made of them"
        ),
    ),
    SkipRule(
        "another engine runs the same integers",
        lambda offer, branch, situation: (
            offer.engine == "onnxruntime"
            and offer.precision == "int8"
            and branch.name == "utmost-speed"
            and "openvino" in situation.engines
        ),
        lambda offer, branch, situation: (
            "OpenVINO, which is installed, runs the same integers and fuses more around them; --target "
            "cross-platform tries this"
        ),
    ),
    SkipRule(
        "a form that the loop tries",
        lambda offer, branch, situation: (
            branch.name in ("utmost-speed", "exact") and offer.name == "onnxruntime-fp32-subpixel"
        ),
        lambda offer, branch, situation: (
            "the loop tries this form on the candidate that leads, whichever engine that has"
        ),
    ),
    SkipRule(
        "compiling a large network",
        lambda offer, branch, situation: not offer.is_cheap and situation.macs > _LARGE_MACS,
        lambda offer, branch, situation: (
            f"convolutions are nearly all of {situation.macs / 1e9:.0f} G MACs, which no compiler changes"
        ),
    ),
    SkipRule(
        "nothing to calibrate on",
        lambda offer, branch, situation: (
            offer.precision == "int8" and not offer.missing and not situation.can_calibrate
        ),
        lambda offer, branch, situation: "integers need inputs to calibrate on; gantune optimize draws them",
    ),
    SkipRule(
        "no bfloat16 units",
        lambda offer, branch, situation: offer.precision == "bf16" and not situation.has_bf16,
        lambda offer, branch, situation: "this processor has no bfloat16 instructions, so it would be slower",
    ),
    SkipRule(
        "no integer units",
        lambda offer, branch, situation: (
            offer.precision == "int8" and not situation.has_integer_products and branch.name == "utmost-speed"
        ),
        lambda offer, branch, situation: (
            "this processor has no instructions for 8-bit products, so it would not be faster"
        ),
    ),
    SkipRule(
        "integers cannot meet the budget",
        lambda offer, branch, situation: (
            offer.precision == "int8" and (situation.budget.min_psnr_db or 0.0) > _MOST_INTEGER_DB
        ),
        lambda offer, branch, situation: (
            f"the budget asks for {situation.budget.min_psnr_db:g} dB; 8-bit values give at most about "
            f"{_MOST_INTEGER_DB:g}"
        ),
    ),
)

PROPOSALS: dict[str, str] = {
    "openvino-bf16": "fuses the most, with dense convolutions in bfloat16",
    "openvino-fp32": "fuses scale, bias and activation into each convolution",
    "openvino-int8": "8-bit convolutions, transposed ones too; the rest stays float32",
    "openvino-int8-bf16": "8-bit convolutions, the rest in bfloat16: the least work a layer",
    "torch-bf16": "channels-last bfloat16 convolutions; filters and sums stay float32",
    "torch-fp32": "channels-last convolutions with constant weights",
    "torch-fused-fp32": "each layer is one native operation, by the Winograd method, exact",
    "torch-fused-bf16": "each layer is one native operation: bfloat16 products, float32 sums",
    "torch-fused-bf16-large": "larger Winograd tiles of bfloat16 products: the fastest and the least exact",
    "torch-compile-fp32": "the compiler fuses what stands between the convolutions",
    "onnxruntime-fp32-transposed": "the engine that runs everywhere ONNX does",
    "onnxruntime-fp32-subpixel": "up-sampling as plain convolutions, which more engines run well",
    "onnxruntime-int8": "8-bit convolutions in the engine that runs everywhere ONNX does",
    "openvino-pruned-int8": "a quarter of the channels fewer, and the rest in 8 bits: the smallest file",
    "onnxruntime-pruned-int8": "a quarter of the channels fewer, and the rest in 8 bits: the smallest file",
    "aotinductor-fp32": "the compiler's kernels, built ahead of time",
    "tensorrt-fp16": "half precision on tensor cores",
    "tensorrt-int8": "8-bit products on tensor cores",
    "litert-int8": "8-bit kernels made for phones and boards",
    "prune": "fewer channels: smaller and faster on every device",
}


def judge_offer(offer: Offer, branch: Branch, situation: Situation) -> tuple[bool, str]:
    """Say whether an offer is to be tried, and why or why not; nothing that is missing is tried."""
    for rule in SKIP_RULES:
        if rule.holds(offer, branch, situation):
            return False, f"skipped: {rule.reason(offer, branch, situation)}"
    proposal = PROPOSALS.get(offer.name, "offered by its backend")
    if offer.missing:
        return False, f"proposed ({proposal}), but {offer.missing}"
    return True, proposal
