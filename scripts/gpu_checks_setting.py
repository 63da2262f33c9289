"""Where the GPU checks run and how they time: a GPU at full size, or the interpreter at tiny size."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from gantune.measuring.latency import Deadline, measure_latency
from gantune.records.figures import Figure

Call = Callable[[], object]


@dataclass(frozen=True)
class Setting:
    """Say where to run; `deadline` ends the whole."""

    is_dry: bool
    deadline: Deadline

    @property
    def device(self) -> torch.device:
        return torch.device("cpu" if self.is_dry else "cuda")

    @property
    def compile_backend(self) -> str:
        """Trace, but generate no code, where only the path is tried."""
        return "aot_eager" if self.is_dry else "inductor"

    def time_ms(self, call: Call) -> float:
        """Return the median of repeated calls, from idle device to idle device."""
        synchronize = None if self.is_dry else torch.cuda.synchronize
        repeats, warmup = (1, 0) if self.is_dry else (30, 5)
        return measure_latency(call, num_repeats=repeats, num_warmup=warmup, synchronize=synchronize).p50

    def bar(
        self, value: float, *, at_least: float | None = None, at_most: float | None = None
    ) -> dict[str, object]:
        """Give the fields `bar` and `met` of a figure; a dry run has no bars."""
        if self.is_dry:
            return {}
        if at_least is not None:
            return {"bar": f"≥ {at_least:g}", "met": value >= at_least}
        assert at_most is not None
        return {"bar": f"≤ {at_most:g}", "met": value <= at_most}


def absent(name: str, reason: str) -> Figure:
    """Say in a row why a figure was not taken."""
    return Figure(name=name, value=None, unit="", how=f"not taken: {reason}")
