"""What the graph of a saved program may say: tensor operations, sizes, and names that are plain names.

torch evaluates a graph's expressions of sizes, imports what its trees of inputs name, calls the operators it
names, some of which open files, and builds Python source from its names. So every text in the document is
checked for what it is used as; what is used as nothing (a node's metadata) may say anything.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|")
_PATH = re.compile(r"[A-Za-z0-9_.]*")
# What an operation is told in words: an activation, a mode, the equation of an einsum.
_TEXT = re.compile(r"[A-Za-z0-9_.,> -]*")
_NUMBER = re.compile(r"-?Infinity|NaN")
_OPERATION = re.compile(
    r"torch\.ops\.(aten|gantune)\.\w+\.\w+"
    r"|_operator\.(add|sub|mul|floordiv|truediv|mod|pow|neg|pos|getitem|eq|ne|lt|le|gt|ge|and_|or_)"
    r"|torch\.sym_(int|float|max|min|not|ite|sum)|math\.(ceil|floor|trunc)"
)
# The arguments of torch's own operations that are words. No other may be: aten.save and aten.from_file name
# files so.
_WORDS = frozenset({"equation", "rounding_mode", "approximate", "mode", "padding", "indexing"})
_SYMBOL = re.compile(r"Symbol\('[a-z]+\d+'")
_EXPRESSION = re.compile(r"[A-Za-z0-9_(),= -]*")
_FUNCTION = re.compile(
    r"Symbol|Integer|Rational|Add|Mul|Pow|Max|Min|Mod|PythonMod|FloorDiv|CleanDiv|CeilDiv|IntTrueDiv"
    r"|FloatTrueDiv|CeilToInt|FloorToInt|TruncToInt|ToFloat|PowByNatural|Where|Equality|Unequality|LessThan"
    r"|StrictLessThan|GreaterThan|StrictGreaterThan|Not|And|Or|[Tt]rue|[Ff]alse|positive|nonnegative|integer"
    r"|[0-9]+"
)
_TREES = ("builtins.tuple", "builtins.list", "builtins.dict", None)
# Parts of a program that a graph of tensors does without: graphs in graphs, objects, functions as arguments.
_FORBIDDEN = frozenset({"as_graph", "as_custom_obj", "as_operator"})


def find_fault(document: Json) -> str | None:
    """Return what in the document of a saved program could do anything but compute tensors, or None.

    Takes out of the document what torch keeps and never runs. Raises TypeError, KeyError or ValueError for a
    document that is no program.
    """
    return next(_find_faults(document), None)


def _find_faults(document: Json) -> Iterator[str]:
    program = _table(document)
    module = _table(program["graph_module"])
    for node in map(_table, _list(_table(module["graph"])["nodes"])):
        yield from _check_operation(node)
        node.pop("metadata", None)
    module.pop("metadata", None)
    program.pop("torch_version", None)
    # Python that torch would run to check inputs; programs are run without.
    program.pop("guards_code", None)
    yield from _check_texts(program, "")


def _check_operation(node: dict[str, Json]) -> Iterator[str]:
    target = str(node["target"])
    found = _OPERATION.fullmatch(target)
    if found is None:
        yield f"its graph calls {target[:80]!r}"
    elif found[1] == "aten":
        for argument in map(_table, _list(node["inputs"])):
            is_text = not {"as_string", "as_strings"}.isdisjoint(_table(argument["arg"]))
            if is_text and argument["name"] not in _WORDS:
                yield f"its graph calls {target} with a text as {str(argument['name'])[:80]!r}"


def _check_texts(value: Json, key: str) -> Iterator[str]:
    """Find texts, and keys, that are not what `key`, the nearest above them, is used for."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in _FORBIDDEN or not _PATH.fullmatch(name):
                yield f"its graph has the part {name[:80]!r}"
            yield from _check_texts(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from _check_texts(inner, key)
    elif isinstance(value, str) and not _CHECKS.get(key, _is_path)(value):
        yield f"it says {value[:80]!r} where {key} belongs"


def _is_path(text: str) -> bool:
    return _PATH.fullmatch(text) is not None


def _is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


def _is_text(text: str) -> bool:
    return _TEXT.fullmatch(text) is not None


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


def _is_expression(text: str) -> bool:
    plain = _SYMBOL.sub("Symbol(", text)
    return _EXPRESSION.fullmatch(plain) is not None and all(
        _FUNCTION.fullmatch(word) for word in re.findall(r"\w+", plain)
    )


def _is_tree(text: str) -> bool:
    """Accept tuples, lists and dictionaries; torch imports what any other type of a tree names."""
    version, root = _list(json.loads(text))
    open_nodes = [root]
    while open_nodes:
        node = _table(open_nodes.pop())
        if node["type"] not in _TREES or not _is_context(node["context"]):
            return False
        open_nodes += _list(node["children_spec"])
    return version == 1


def _is_context(context: Json) -> bool:
    names = None if context is None else json.loads(str(context))
    if names is None:
        return True
    return isinstance(names, list) and all(isinstance(name, str) and _is_name(name) for name in names)


def _table(value: Json) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise TypeError(f"the graph has {type(value).__name__} where a table belongs")
    return value


def _list(value: Json) -> list[Json]:
    if not isinstance(value, list):
        raise TypeError(f"the graph has {type(value).__name__} where a list belongs")
    return value


_CHECKS: dict[str, Callable[[str], bool]] = {
    "name": _is_name,
    "as_name": _is_name,
    "forward_arg_names": _is_name,
    "expr_str": _is_expression,
    "in_spec": _is_tree,
    "out_spec": _is_tree,
    "as_string": _is_text,
    "as_strings": _is_text,
    "as_float": _is_number,
    "as_floats": _is_number,
}
