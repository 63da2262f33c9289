"""The situation that the planner decides in: the network, the wish, and what the machine has."""

from dataclasses import dataclass, field

from gantune.errors import UsageError
from gantune.quality.gate import Budget
from gantune.records.plan import Goal

TARGETS = ("cpu", "nvidia", "edge", "cross-platform")
GOALS: tuple[Goal, ...] = ("latency", "throughput", "memory", "size")
PRECISIONS = ("any", "fp32", "bf16", "int8")

_BF16_INSTRUCTIONS = frozenset({"avx512_bf16", "amx_bf16", "bf16"})
_INTEGER_INSTRUCTIONS = frozenset({"avx512_vnni", "amx_int8", "i8mm"})


@dataclass(frozen=True, kw_only=True)
class Situation:
    """What the rules look at.

    `macs` and `num_parameters` are the network's size, 0 where they are not known; `budget_minutes` is the
    time to search in. `can_calibrate` says whether whoever builds has inputs to calibrate integers on;
    `engines` names those that are installed, as far as that is known. Raises `UsageError` for a target that
    is not known.
    """

    family: str
    target: str
    goal: Goal
    precision: str
    instruction_sets: tuple[str, ...]
    num_parameters: int = 0
    macs: int = 0
    budget: Budget = field(default_factory=Budget)
    budget_minutes: float | None = None
    can_calibrate: bool = False
    engines: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.target not in TARGETS:
            raise UsageError(f"The target {self.target!r} is unknown; the targets are: {', '.join(TARGETS)}.")

    @property
    def has_bf16(self) -> bool:
        """Say whether the processor computes bfloat16 itself."""
        return bool(_BF16_INSTRUCTIONS & set(self.instruction_sets))

    @property
    def has_integer_products(self) -> bool:
        """Say whether the processor has instructions for sums of 8-bit products."""
        return bool(_INTEGER_INSTRUCTIONS & set(self.instruction_sets))

    @property
    def is_constrained(self) -> bool:
        """Say whether memory or size must shrink: the goal asks for it, or the budget bounds one."""
        bounds = (self.budget.max_size_bytes, self.budget.max_peak_bytes)
        return self.goal in ("memory", "size") or any(bound is not None for bound in bounds)
