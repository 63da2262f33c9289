"""The torch part of the allow-list: tensors as views of storages, every size checked against the storage."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from gantune.checkpoints.inert import InertGlobal, describe_value
from gantune.checkpoints.numpy_builders import checked_sizes
from gantune.checkpoints.pickle_machine import Builder
from gantune.checkpoints.reading_budget import ReadingBudget
from gantune.errors import CheckpointError

_STORAGE_DTYPES: Final = {
    "FloatStorage": torch.float32,
    "DoubleStorage": torch.float64,
    "HalfStorage": torch.float16,
    "BFloat16Storage": torch.bfloat16,
    "LongStorage": torch.int64,
    "IntStorage": torch.int32,
    "ShortStorage": torch.int16,
    "CharStorage": torch.int8,
    "ByteStorage": torch.uint8,
    "BoolStorage": torch.bool,
}


@dataclass(eq=False)
class Storage:
    """The numbers behind one or more tensors, one dimension."""

    values: Tensor


def storage_dtype(storage_class: object) -> torch.dtype:
    """Return the dtype of a pickled storage class; raise `CheckpointError` for any other class."""
    if isinstance(storage_class, InertGlobal):
        module, _, name = storage_class.name.rpartition(".")
        if module in ("torch", "torch.cuda") and name in _STORAGE_DTYPES:
            return _STORAGE_DTYPES[name]
    raise CheckpointError(f"The file holds a tensor storage of class {describe_value(storage_class)}.")


def _build_tensor(arguments: tuple[object, ...], _: ReadingBudget) -> Tensor:
    storage, offset, size, stride = arguments[:4]
    if not isinstance(storage, Storage):
        raise CheckpointError(f"The file holds a tensor over {describe_value(storage)} instead of a storage.")
    sizes, strides = checked_sizes(size), checked_sizes(stride)
    if type(offset) is not int or offset < 0 or len(sizes) != len(strides):
        raise CheckpointError(
            "The file holds a tensor whose shape and strides do not agree: it is damaged or hostile."
        )
    available = storage.values.numel()
    last = offset + sum((extent - 1) * step for extent, step in zip(sizes, strides, strict=True))
    # More elements than numbers would be an expanded view, which grows without bound when it is copied.
    if math.prod(sizes) > available or (math.prod(sizes) > 0 and last >= available):
        raise CheckpointError(
            f"The file holds a tensor of shape {sizes} in a storage of {available} numbers: damaged."
        )
    return (
        torch.as_strided(storage.values, sizes, strides, offset)
        if math.prod(sizes)
        else storage.values.new_empty(sizes)
    )


def _unwrap_parameter(arguments: tuple[object, ...], _: ReadingBudget) -> Tensor:
    if not isinstance(arguments[0], Tensor):
        raise CheckpointError(f"The file holds a parameter made of {describe_value(arguments[0])}.")
    return arguments[0]


def _unwrap_typed_tensor(arguments: tuple[object, ...], budget: ReadingBudget) -> Tensor:
    what, _, inner, _ = arguments
    builder = TENSOR_BUILDERS.get(what.name) if isinstance(what, InertGlobal) else None
    if builder is None or builder is _unwrap_typed_tensor or not isinstance(inner, tuple):
        raise CheckpointError(f"The file holds a tensor made by {describe_value(what)}.")
    built = builder(inner, budget)
    return _unwrap_parameter((built,), budget)


def _build_shape(arguments: tuple[object, ...], _: ReadingBudget) -> tuple[int, ...]:
    return checked_sizes(arguments[0])


TENSOR_BUILDERS: Final[Mapping[str, Builder]] = {
    "torch._utils._rebuild_tensor": _build_tensor,
    "torch._utils._rebuild_tensor_v2": _build_tensor,
    "torch._utils._rebuild_parameter": _unwrap_parameter,
    "torch._utils._rebuild_parameter_with_state": _unwrap_parameter,
    "torch._tensor._rebuild_from_type_v2": _unwrap_typed_tensor,
    "torch.Size": _build_shape,
}
