"""Check the arrays that a caller gives against the inputs that an artifact takes."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from gantune.errors import UsageError
from gantune.records.interface import InputSpec

InputValue = NDArray[np.generic] | np.number | float
Arrays = dict[str, NDArray[np.generic]]

_RANGE_SLACK = 1e-3


def prepare_inputs(specs: Sequence[InputSpec], given: Mapping[str, InputValue]) -> Arrays:
    """Return contiguous arrays in the order of `specs`; scalars left out take their default.

    Raises UsageError in one sentence for a missing or unknown name, a wrong type, shape or size, values that
    are not finite, classes or image values out of range.
    """
    _check_names(specs, given)
    arrays: Arrays = {}
    sizes: dict[str, tuple[int, str]] = {}
    for spec in specs:
        array = _as_array(spec, given.get(spec.name))
        _check_shape(spec, array, sizes)
        _check_values(spec, array)
        arrays[spec.name] = np.ascontiguousarray(array).reshape(array.shape)
    return arrays


def describe_inputs(specs: Sequence[InputSpec]) -> str:
    """Write the inputs as `z [N, 512] float32, truncation_psi scalar (default 1.0)`."""
    return ", ".join(_describe(spec) for spec in specs)


def _describe(spec: InputSpec) -> str:
    if spec.kind == "scalar":
        return f"{spec.name} scalar (default {spec.default})"
    return f"{spec.name} {_shape_text(spec.shape)} {spec.dtype}"


def _shape_text(shape: Sequence[int | str]) -> str:
    return "[" + ", ".join(str(size) for size in shape) + "]"


def _check_names(specs: Sequence[InputSpec], given: Mapping[str, InputValue]) -> None:
    known = {spec.name for spec in specs}
    required = [spec.name for spec in specs if spec.default is None]
    for name in given:
        if name not in known:
            raise UsageError(f"input {name!r} is unknown; the artifact takes: {describe_inputs(specs)}")
    for name in required:
        if name not in given:
            raise UsageError(f"input {name!r} is missing; the artifact takes: {describe_inputs(specs)}")


def _as_array(spec: InputSpec, value: InputValue | None) -> NDArray[np.generic]:
    if value is None:
        return np.asarray(spec.default, dtype=spec.dtype)
    if isinstance(value, (bool, int, float, np.number)):
        if spec.kind != "scalar" or isinstance(value, bool):
            raise UsageError(
                f"input {spec.name!r} is a {type(value).__name__}; it must be a numpy array {_describe(spec)}"
            )
        return np.asarray(value, dtype=spec.dtype)
    if not isinstance(value, np.ndarray):
        raise UsageError(
            f"input {spec.name!r} is a {type(value).__name__}; it must be a numpy array {_describe(spec)}"
        )
    if spec.kind == "scalar" and value.shape == () and np.issubdtype(value.dtype, np.number):
        return value.astype(spec.dtype)
    if value.dtype != np.dtype(spec.dtype):
        raise UsageError(
            f"input {spec.name!r} is {value.dtype}; it must be {spec.dtype}: pass {spec.name}.astype("
            f"numpy.{spec.dtype})"
        )
    return value


def _check_shape(spec: InputSpec, array: NDArray[np.generic], sizes: dict[str, tuple[int, str]]) -> None:
    if array.ndim != len(spec.shape):
        raise _shape_error(spec, array)
    for position, (expected, size) in enumerate(zip(spec.shape, array.shape, strict=True)):
        if isinstance(expected, int):
            if size != expected:
                raise _shape_error(spec, array)
            continue
        if size < 1:
            raise UsageError(f"input {spec.name!r} has size 0 in dimension {position}; it must be at least 1")
        known, owner = sizes.setdefault(expected, (size, spec.name))
        if known != size:
            raise UsageError(
                f"input {spec.name!r} has {expected} = {size} where {owner!r} has {expected} = {known}; "
                "they must be equal"
            )


def _shape_error(spec: InputSpec, array: NDArray[np.generic]) -> UsageError:
    expected = "a single number" if spec.kind == "scalar" else _shape_text(spec.shape)
    return UsageError(f"input {spec.name!r} has shape {_shape_text(array.shape)}; it must be {expected}")


def _check_values(spec: InputSpec, array: NDArray[np.generic]) -> None:
    if not np.isfinite(array).all():
        raise UsageError(f"input {spec.name!r} holds NaN or infinity; every value must be finite")
    is_index = spec.kind == "class" and spec.dtype == "int64"
    if not is_index and spec.kind != "image":
        return
    slack = 0.0 if is_index else _RANGE_SLACK
    low = 0.0 if is_index and spec.low is None else spec.low
    smallest, largest = float(array.min()), float(array.max())
    is_low = low is not None and smallest < low - slack
    is_high = spec.high is not None and largest > spec.high + slack
    if is_low or is_high:
        raise UsageError(
            f"input {spec.name!r} holds values from {smallest:g} to {largest:g}; they must lie in "
            f"[{low if low is not None else '-∞'}, {spec.high if spec.high is not None else '∞'}]"
        )
