"""The slower forms of operations that this process took, and those of many subjects as one list."""

from collections.abc import Iterable

from gantune.records.fallback import FormFallback


def read_fallbacks() -> tuple[FormFallback, ...]:
    """List what this process has taken so far; imports torch."""
    from gantune.ops.choose import fallbacks

    return tuple(
        FormFallback(operation=found.operation, wanted=found.wanted, used=found.used, reason=found.reason)
        for found in fallbacks()
    )


def gather_fallbacks(found: Iterable[tuple[str, Iterable[FormFallback]]]) -> tuple[FormFallback, ...]:
    """Name each fallback once, with the subjects that took it, from pairs of a subject's name and its own."""
    subjects: dict[FormFallback, list[str]] = {}
    for name, fallbacks in found:
        for fallback in fallbacks:
            names = subjects.setdefault(fallback.model_copy(update={"subjects": ()}), [])
            names.extend(one for one in (name, *fallback.subjects) if one not in names)
    return tuple(
        fallback.model_copy(update={"subjects": tuple(names)}) for fallback, names in subjects.items()
    )
