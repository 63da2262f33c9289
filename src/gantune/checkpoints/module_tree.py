"""Read a pickled `nn.Module` as data: its attributes, children and tensors, whoever's class it is."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from torch import Tensor

from gantune.checkpoints.inert import InertObject, describe_value
from gantune.errors import CheckpointError

_PERSISTENT = "torch_utils.persistence._reconstruct_persistent_obj"
_MAX_DEPTH = 16
_MAX_MODULES = 20_000


@dataclass(frozen=True)
class ModuleRecord:
    """What a pickle says about a module: the name of its class and its `__dict__`."""

    class_name: str
    attributes: Mapping[str, object]

    def child(self, *names: str) -> "ModuleRecord | None":
        """Return the module reached through `names`, or None where one of them is not there."""
        record: ModuleRecord | None = self
        for name in names:
            children = record.attributes.get("_modules") if record is not None else None
            record = read_module(children.get(name)) if isinstance(children, dict) else None
        return record

    def child_names(self) -> list[str]:
        """List the names of the direct children, in order."""
        children = self.attributes.get("_modules")
        return [name for name in children if isinstance(name, str)] if isinstance(children, dict) else []


def read_module(value: object) -> ModuleRecord | None:
    """Return the record of a pickled module, or None for anything else; source text in the file is not
    read.
    """
    if not isinstance(value, InertObject):
        return None
    name, state = value.name, value.state
    if name == _PERSISTENT and value.arguments and isinstance(value.arguments[0], dict):
        meta = value.arguments[0]
        name, state = str(meta.get("class_name")), meta.get("state")
    if not isinstance(state, dict) or not isinstance(state.get("_modules"), dict):
        return None
    return ModuleRecord(name, state)


def collect_tensors(module: ModuleRecord) -> dict[str, Tensor]:
    """Return parameters and buffers by state-dict name.

    Raises `CheckpointError` where something else stands in place of a tensor or module, and for a tree that
    contains itself or is absurdly large.
    """
    tensors: dict[str, Tensor] = {}
    waiting = [("", module)]
    visited = 0
    while waiting:
        prefix, record = waiting.pop()
        visited += 1
        if visited > _MAX_MODULES or prefix.count(".") > _MAX_DEPTH:
            raise CheckpointError(
                "The modules of the network contain themselves: the file is damaged or hostile."
            )
        tensors.update(_own_tensors(prefix, record))
        waiting.extend(_children(prefix, record))
    return tensors


def _own_tensors(prefix: str, record: ModuleRecord) -> Iterator[tuple[str, Tensor]]:
    for group in ("_parameters", "_buffers"):
        for name, value in _entries(record, group, prefix):
            if isinstance(value, Tensor):
                yield prefix + name, value
            elif value is not None:
                raise CheckpointError(f"The weight {prefix + name!r} is {describe_value(value)}.")


def _children(prefix: str, record: ModuleRecord) -> Iterator[tuple[str, ModuleRecord]]:
    for name, value in _entries(record, "_modules", prefix):
        child = read_module(value)
        if child is not None:
            yield f"{prefix}{name}.", child
        elif value is not None:
            raise CheckpointError(f"The module {prefix + name!r} is {describe_value(value)}.")


def _entries(record: ModuleRecord, group: str, prefix: str) -> list[tuple[str, object]]:
    values = record.attributes.get(group, {})
    if not isinstance(values, dict) or not all(isinstance(name, str) and len(name) < 256 for name in values):
        raise CheckpointError(f"The module {prefix!r} has {group} that are not a dictionary of names.")
    return list(values.items())
