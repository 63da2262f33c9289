"""The numpy part of the allow-list: dtypes, scalars and arrays of plain numbers, old and new module names."""

import math
from collections.abc import Mapping
from typing import Final, Literal

import numpy as np

from gantune.checkpoints.inert import InertGlobal, describe_value
from gantune.checkpoints.pickle_machine import Builder
from gantune.checkpoints.reading_budget import ReadingBudget
from gantune.errors import CheckpointError

_CODES: Final = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
_ORDERS: Final[Mapping[object, Literal["<", ">", "="]]] = {"<": "<", ">": ">", "=": "=", "|": "="}
_MAX_DIMENSIONS: Final = 32
_MAX_SCALAR: Final = 16

Array = np.ndarray[tuple[int, ...], np.dtype[np.generic]]


class DtypeRecord:
    """A numpy dtype as the file describes it; the byte order arrives after the code."""

    def __init__(self, code: str) -> None:
        self._code = code
        self._order: Literal["<", ">", "="] = "="

    def accept(self, state: object) -> None:
        """Take the byte order from a dtype's pickled state (version, order, …)."""
        if not isinstance(state, tuple) or len(state) < 2 or state[1] not in tuple(_ORDERS):
            raise CheckpointError("The pickle describes a numpy dtype in an unknown way: it is damaged.")
        self._order = _ORDERS[state[1]]

    def resolve(self) -> np.dtype[np.generic]:
        """Return the numpy dtype; it is always one of plain numbers or booleans."""
        return np.dtype(self._code).newbyteorder(self._order)


def _build_dtype(arguments: tuple[object, ...], _: ReadingBudget) -> DtypeRecord:
    code = arguments[0]
    if not isinstance(code, str) or code.lstrip("<>=|") not in _CODES:
        shown = code if isinstance(code, str) and len(code) < 16 else describe_value(code)
        raise CheckpointError(f"The pickle holds a numpy array of {shown}; only plain numbers are read.")
    return DtypeRecord(code.lstrip("<>=|"))


def _build_empty_array(arguments: tuple[object, ...], _: ReadingBudget) -> Array:
    if arguments[0] != InertGlobal("numpy.ndarray"):
        raise CheckpointError(f"The pickle holds a numpy array of class {describe_value(arguments[0])}.")
    return np.empty(0, dtype=np.uint8)


def _build_scalar(arguments: tuple[object, ...], _: ReadingBudget) -> object:
    dtype, data = arguments
    if not isinstance(dtype, DtypeRecord) or not isinstance(data, str | bytes) or len(data) > _MAX_SCALAR:
        raise CheckpointError(f"The pickle holds a numpy number of {describe_value(dtype)}.")
    return np.frombuffer(_as_buffer(data), dtype=dtype.resolve(), count=1)[0].item()


def _build_from_buffer(arguments: tuple[object, ...], budget: ReadingBudget) -> object:
    data, dtype, shape, order = arguments
    array = np.empty(0, dtype=np.uint8)
    fill_array(array, (1, shape, dtype, order == "F", data), budget)
    return array


def fill_array(array: Array, state: object, budget: ReadingBudget) -> None:
    """Give a new array the checked state (version, shape, dtype, is_fortran, bytes).

    Raises `CheckpointError` when the bytes are not exactly what shape and dtype need.
    """
    if not isinstance(state, tuple) or len(state) != 5:
        raise CheckpointError("The pickle describes a numpy array in an unknown way: it is damaged.")
    _, shape, dtype, is_fortran, data = state
    if not isinstance(dtype, DtypeRecord):
        raise CheckpointError(
            f"The pickle holds a numpy array of {describe_value(dtype)}; only plain numbers are read."
        )
    sizes = checked_sizes(shape)
    if isinstance(data, str):
        budget.spend_bytes(len(data), "array bytes written as text")
    buffer = _as_buffer(data)
    resolved = dtype.resolve()
    if math.prod(sizes) * resolved.itemsize != len(buffer):
        raise CheckpointError(
            f"The pickle holds a numpy array of shape {sizes} and {resolved} in {len(buffer)} bytes: damaged."
        )
    budget.spend_bytes(len(buffer), "a numpy array")
    # In place, since other parts of the file may already refer to this array.
    # The stub asks for a numpy boolean, which numpy itself refuses here.
    array.__setstate__((1, sizes, resolved, bool(is_fortran), bytes(buffer)))  # type: ignore[arg-type]


def checked_sizes(shape: object) -> tuple[int, ...]:
    """Return a shape or stride as a tuple of numbers from 0; raise `CheckpointError` otherwise."""
    if not isinstance(shape, tuple) or len(shape) > _MAX_DIMENSIONS:
        raise CheckpointError("The pickle gives an array a shape that is none: it is damaged or hostile.")
    if not all(type(size) is int and 0 <= size < 2**62 for size in shape):
        raise CheckpointError("The pickle gives an array a shape that is none: it is damaged or hostile.")
    return shape


def _as_buffer(data: object) -> bytes | memoryview:
    if isinstance(data, str):
        # Files written by Python 2 hold array bytes as text.
        return data.encode("latin-1")
    if isinstance(data, bytes | memoryview):
        return data
    raise CheckpointError(f"The pickle holds {describe_value(data)} where array bytes belong.")


NUMPY_BUILDERS: Final[Mapping[str, Builder]] = {
    "numpy.dtype": _build_dtype,
    **{f"numpy.{package}.multiarray._reconstruct": _build_empty_array for package in ("core", "_core")},
    **{f"numpy.{package}.multiarray.scalar": _build_scalar for package in ("core", "_core")},
    **{f"numpy.{package}.numeric._frombuffer": _build_from_buffer for package in ("core", "_core")},
}
