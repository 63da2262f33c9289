"""What the graph of a saved program may do: compute tensors and sizes, and nothing else.

An archive can name any operator, some of which read and write files, and any Python function. Only those of
tensors and sizes are let through, told in words only what operations are told in words; and the names of
arguments, which become part of the graph's Python source, are names. What is never used (expressions, trees,
metadata, guards) may say anything.
"""

import re
from collections.abc import Iterator
from keyword import iskeyword
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|")
_OPERATION = re.compile(
    r"torch\.ops\.(aten|gantune)\.\w+\.\w+"
    r"|_operator\.(add|sub|mul|floordiv|truediv|mod|pow|neg|pos|getitem|eq|ne|lt|le|gt|ge|and_|or_)"
    r"|torch\.sym_(int|float|max|min|not|ite|sum)|math\.(ceil|floor|trunc)"
)
# The arguments of torch's own operations that are words. No other may be: aten.save and aten.from_file name
# files so.
_WORDS = frozenset({"equation", "rounding_mode", "approximate", "mode", "padding", "indexing"})


def find_fault(document: Json) -> str | None:
    """Return what in the document of a saved program could do anything but compute tensors, or None.

    Raises TypeError, KeyError or ValueError for a document that is no program.
    """
    graph = as_table(as_table(as_table(document)["graph_module"])["graph"])
    return next(
        (fault for node in as_list(graph["nodes"]) for fault in _check_operation(as_table(node))), None
    )


def _check_operation(node: dict[str, Json]) -> Iterator[str]:
    target = str(node["target"])
    found = _OPERATION.fullmatch(target)
    if found is None:
        yield f"its graph calls {target[:80]!r}"
        return
    for argument in map(as_table, as_list(node["inputs"])):
        name = str(argument["name"])
        if not _NAME.fullmatch(name) or iskeyword(name) or (not name and argument.get("kind", 1) != 1):
            yield f"its graph has the argument {name[:80]!r}"
        is_text = not {"as_string", "as_strings"}.isdisjoint(as_table(argument["arg"]))
        if is_text and found[1] == "aten" and name not in _WORDS:
            yield f"its graph calls {target} with a text as {name[:80]!r}"


def as_table(value: Json) -> dict[str, Json]:
    """Return a table of the document; raise TypeError where there is none."""
    if not isinstance(value, dict):
        raise TypeError(f"the graph has {type(value).__name__} where a table belongs")
    return value


def as_list(value: Json) -> list[Json]:
    """Return a list of the document; raise TypeError where there is none."""
    if not isinstance(value, list):
        raise TypeError(f"the graph has {type(value).__name__} where a list belongs")
    return value


def as_size(value: Json) -> int:
    """Return a whole number of the document; raise TypeError where there is none."""
    if not isinstance(value, int):
        raise TypeError(f"the graph has {type(value).__name__} where a number belongs")
    return value
