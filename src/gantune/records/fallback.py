"""A slower form of an operation that ran because a faster one could not."""

from pydantic import BaseModel, ConfigDict


class FormFallback(BaseModel):
    """Say which operation, the form that was `wanted` and the one `used`, why, and in which subjects."""

    model_config = ConfigDict(frozen=True)

    operation: str
    wanted: str
    used: str
    reason: str
    subjects: tuple[str, ...] = ()
