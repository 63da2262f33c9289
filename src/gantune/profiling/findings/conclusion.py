"""How a rule states what it found: bounds of the gain, figures in words."""

from collections.abc import Sequence

import numpy as np

from gantune.profiling.trace.events import Mask, Trace
from gantune.records.profile import Confidence, Evidence, ExpectedGain, Finding, FindingKind

# Less than this drowns in the differences from step to step.
MIN_SHARE = 0.05
NUM_NAMES = 3
_MAX_SHARE = 0.99


def conclude(
    kind: FindingKind,
    share: float | None,
    *,
    evidence: Sequence[Evidence],
    confidence: Confidence,
    remedy: str,
    removable: float = 1.0,
) -> Finding:
    """State a finding whose gain is bounded by removing the `removable` part of its share (Amdahl 1967)."""
    gain = None
    if share is not None:
        share = min(max(share, 0.0), 1.0)
        gain = ExpectedGain(low=1.0, high=1 / (1 - min(share * removable, _MAX_SHARE)))
    return Finding(
        kind=kind,
        share=share,
        evidence=tuple(evidence),
        confidence=confidence,
        remedy=remedy,
        expected_gain=gain,
    )


def percent(share: float) -> str:
    """Write a share as percent, one decimal below ten."""
    return f"{share * 100:.0f} %" if share >= 0.0995 else f"{share * 100:.1f} %"


def say_ms(microseconds: float) -> str:
    """Write microseconds as milliseconds, or as they are where they are few."""
    if microseconds < 100:
        return f"{microseconds:.1f} µs"
    return f"{microseconds / 1e3:,.{0 if microseconds >= 1e5 else 1}f} ms"


def top_names(trace: Trace, mask: Mask, *, count: int = NUM_NAMES) -> tuple[str, ...]:
    """Name the marked events that take most time together, longest first."""
    if not mask.any():
        return ()
    totals = np.bincount(trace.name[mask], weights=trace.duration_us[mask], minlength=len(trace.names))
    order = np.argsort(-totals)[:count]
    return tuple(shorten(trace.names[number]) for number in order if totals[number] > 0)


def shorten(name: str, *, limit: int = 90) -> str:
    """Cut a long kernel name."""
    return name if len(name) <= limit else name[: limit - 1] + "…"
