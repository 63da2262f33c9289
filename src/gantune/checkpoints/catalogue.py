"""Every checkpoint format gantune reads, and how a file finds its own."""

from gantune.checkpoints import (
    biggan,
    cyclegan,
    dcgan,
    esrgan,
    ncnn,
    nvidia,
    nvidia_weights,
    rosinality,
    safetensors_file,
    tensorflow,
)
from gantune.checkpoints.checkpoint_file import CheckpointFile
from gantune.checkpoints.content import Format
from gantune.checkpoints.inert import InertGlobal, InertObject, describe_value
from gantune.errors import CheckpointError

FORMATS: tuple[Format, ...] = (
    nvidia.FORMAT,
    nvidia_weights.FORMAT,
    tensorflow.FORMAT,
    rosinality.FORMAT,
    safetensors_file.FORMAT,
    biggan.FORMAT,
    esrgan.FORMAT,
    cyclegan.FORMAT,
    dcgan.FORMAT,
    ncnn.FORMAT,
)

_MAX_SHOWN = 6


def identify_format(file: CheckpointFile) -> Format:
    """Return the first format of `FORMATS` that recognizes the content of `file`.

    Raises `CheckpointError`, listing what is recognized, when none does.
    """
    for format_ in FORMATS:
        if format_.recognizes(file):
            return format_
    raise CheckpointError(_describe_failure(file))


def _describe_failure(file: CheckpointFile) -> str:
    known = "; ".join(format_.description for format_ in FORMATS)
    found = {
        "empty": "an empty file",
        "torch": "a torch file that holds",
        "pickle": "a pickle that holds",
        "safetensors": "a safetensors file that `gantune convert` did not write",
        "text": "a text file",
        "other": "data of an unknown kind",
    }[file.container]
    if file.container in ("torch", "pickle"):
        found = f"{found} {_describe_payload(file.payload)}"
    return f"{file.path} is not a checkpoint gantune knows: it is {found}. It reads {known}."


def _describe_payload(payload: object) -> str:
    if not isinstance(payload, dict):
        return describe_value(payload)
    keys = ", ".join(repr(key)[:40] for key in list(payload)[:_MAX_SHOWN]) or "nothing"
    unknown = {
        describe_value(value) for value in payload.values() if isinstance(value, InertGlobal | InertObject)
    }
    return f"a dictionary of {keys}" + "".join(f"; {part}" for part in sorted(unknown)[:_MAX_SHOWN])
