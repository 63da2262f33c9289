"""What the field's `impl` argument means here."""

from gantune.errors import UsageError
from gantune.ops.choose import FORM_NAMES


def implementation_of(impl: str) -> str | None:
    """Turn `impl` into an implementation: "ref" is the reference form, "cuda" the current choice.

    The names of our forms are taken too. Raises UsageError for anything else.
    """
    if impl == "ref":
        return "reference"
    if impl == "cuda":
        return None
    if impl in FORM_NAMES:
        return impl
    raise UsageError(f"unknown impl {impl!r}; allowed: ref, cuda, {', '.join(FORM_NAMES)}")
