"""The part of the allow-list that makes plain containers."""

from collections.abc import Mapping
from typing import Final

from gantune.checkpoints.inert import AttributeRecord, InertGlobal, InertObject, describe_value
from gantune.checkpoints.pickle_machine import Builder
from gantune.checkpoints.reading_budget import ReadingBudget
from gantune.errors import CheckpointError

_KEY_TYPES = (str, int, float, bytes, type(None))


def _build_dictionary(arguments: tuple[object, ...], budget: ReadingBudget) -> dict[object, object]:
    """Make a dictionary, empty or from pairs as `OrderedDict` of Python 2 writes them."""
    result: dict[object, object] = {}
    pairs = arguments[0] if arguments else ()
    if isinstance(pairs, InertGlobal):
        return result  # the factory of a defaultdict
    if isinstance(pairs, dict):
        pairs = list(pairs.items())
    if not isinstance(pairs, list | tuple):
        raise CheckpointError(
            f"The pickle makes a dictionary of {describe_value(pairs)}: it is damaged or hostile."
        )
    budget.spend_operations(len(pairs))
    for key, value in pairs:
        result[_checked_key(key, budget)] = value
    return result


def _build_set(arguments: tuple[object, ...], budget: ReadingBudget) -> set[object]:
    items = arguments[0] if arguments else ()
    if not isinstance(items, list | tuple):
        raise CheckpointError(f"The pickle makes a set of {describe_value(items)}: it is damaged or hostile.")
    budget.spend_operations(len(items))
    return {_checked_key(item, budget) for item in items}


def _build_frozenset(arguments: tuple[object, ...], budget: ReadingBudget) -> frozenset[object]:
    return frozenset(_build_set(arguments, budget))


def _build_bytes(arguments: tuple[object, ...], budget: ReadingBudget) -> bytes:
    """Make empty bytes, which protocol 2 writes as a call, or the bytes of a bytearray."""
    data = arguments[0] if arguments else b""
    if not isinstance(data, bytes | memoryview):
        raise CheckpointError(f"The pickle makes bytes of {describe_value(data)}: it is damaged or hostile.")
    budget.spend_bytes(len(data), "bytes")
    return bytes(data)


def _checked_key(key: object, budget: ReadingBudget) -> object:
    if type(key) is not str:
        budget.spend_unusual_key()
    if not isinstance(key, _KEY_TYPES):
        raise CheckpointError(f"The pickle uses a {type(key).__name__} as a key; no checkpoint does.")
    return key


def _build_record(arguments: tuple[object, ...], _: ReadingBudget) -> AttributeRecord:
    if arguments:
        raise CheckpointError("The pickle makes a record with arguments: it is damaged or hostile.")
    return AttributeRecord()


def _encode_text(arguments: tuple[object, ...], budget: ReadingBudget) -> bytes:
    """Turn text back into the bytes that protocol 2 wrote as text."""
    text, encoding = arguments
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        raise CheckpointError("The pickle encodes text in an unknown way: it is damaged or hostile.")
    budget.spend_bytes(len(text), "bytes written as text")
    return text.encode("latin-1")


def _reconstruct_object(arguments: tuple[object, ...], _: ReadingBudget) -> object:
    """Make an object the way protocol 1 does: a dictionary for `EasyDict`, inert otherwise."""
    what = arguments[0]
    if isinstance(what, InertGlobal):
        return {} if what.name in _DICTIONARIES else InertObject(what.name)
    return InertObject("copyreg._reconstructor", arguments)


_DICTIONARIES: Final = (
    "collections.OrderedDict",
    "collections.defaultdict",
    "dnnlib.util.EasyDict",
    "dnnlib.EasyDict",
    "easydict.EasyDict",
)

CONTAINER_BUILDERS: Final[Mapping[str, Builder]] = {
    **dict.fromkeys(_DICTIONARIES, _build_dictionary),
    "argparse.Namespace": _build_record,
    "builtins.set": _build_set,
    "__builtin__.set": _build_set,
    "builtins.frozenset": _build_frozenset,
    "__builtin__.frozenset": _build_frozenset,
    "builtins.bytes": _build_bytes,
    "__builtin__.bytes": _build_bytes,
    "builtins.bytearray": _build_bytes,
    "__builtin__.bytearray": _build_bytes,
    "_codecs.encode": _encode_text,
    "copyreg._reconstructor": _reconstruct_object,
    "copy_reg._reconstructor": _reconstruct_object,
}
