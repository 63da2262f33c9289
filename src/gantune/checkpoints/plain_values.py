"""Turn decoded values into plain JSON values, or refuse them."""

import math
from collections.abc import Mapping

import numpy as np
from torch import Tensor

from gantune.checkpoints.inert import describe_value
from gantune.errors import CheckpointError

_MAX_DEPTH = 8
_MAX_VALUES = 10_000
_MAX_NUMBERS = 1024


def plain_dictionary(values: Mapping[str, object]) -> dict[str, object]:
    """Return `values` with tuples as lists and small arrays as lists of numbers.

    Raises `CheckpointError`, naming the key, for anything that JSON does not have, and for trees without end.
    """
    return {key: _plain(value, key, [_MAX_VALUES], _MAX_DEPTH) for key, value in values.items()}


def _plain(value: object, key: str, left: list[int], depth: int) -> object:
    left[0] -= 1
    if depth == 0 or left[0] < 0:
        raise CheckpointError(f"The setting {key!r} is too deeply nested or too long: damaged or hostile.")
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int) and abs(value) < 2**63:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, np.ndarray | Tensor) and math.prod(value.shape) <= _MAX_NUMBERS:
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(item, key, left, depth - 1) for item in value]
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        return {name: _plain(item, name, left, depth - 1) for name, item in value.items()}
    raise CheckpointError(f"The setting {key!r} is {describe_value(value)}.")
