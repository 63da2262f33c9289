"""Read constructor options that come as a dictionary, as checkpoints and plans hold them."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from gantune.errors import UsageError

Options = TypeVar("Options")


def read_options(kind: type[Options], values: Mapping[str, object] | None, *, what: str) -> Options:
    """Build the options dataclass `kind` from `values`; raise `UsageError` naming the wrong key."""
    try:
        return TypeAdapter(kind).validate_python(dict(values or {}))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        allowed = ", ".join(getattr(kind, "__dataclass_fields__", {}))
        raise UsageError(f"{what}: {key!r} is wrong ({first['msg']}); the keys are: {allowed}.") from error


def plain_values(options: object) -> dict[str, object]:
    """Return the fields of an options dataclass as JSON values."""
    values: dict[str, object] = asdict(options)  # type: ignore[call-overload]
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
