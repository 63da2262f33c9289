"""A slower form of an operation that ran, as one sentence."""

from gantune.records.fallback import FormFallback


def fallback_text(fallback: FormFallback) -> str:
    """Write which form ran instead of which, in what, and why; without a full stop."""
    where = f" in {', '.join(fallback.subjects)}" if fallback.subjects else ""
    return (
        f"{fallback.operation} ran in its {fallback.used} form instead of {fallback.wanted}{where}: "
        f"{fallback.reason}"
    )
