"""Build the graph of a saved program as a module of torch.fx, from the document that torch.export wrote.

torch's own reader imports its compiler and sympy (145 MiB and a second), and runs what a file asks it to. A
graph of tensor operations needs neither: each node is one operation with plain arguments.
"""

import math
import operator
from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor, fx, nn
from torch.fx.node import Argument

from gantune.runtime.engines.program_document import Json, as_list, as_size, as_table

# How torch.export numbers dtypes, layouts and memory formats (its schema's ScalarType, Layout, MemoryFormat).
DTYPES = {
    1: torch.uint8,
    2: torch.int8,
    3: torch.int16,
    4: torch.int32,
    5: torch.int64,
    6: torch.float16,
    7: torch.float32,
    8: torch.float64,
    9: torch.complex32,
    10: torch.complex64,
    11: torch.complex128,
    12: torch.bool,
    13: torch.bfloat16,
}
_LAYOUTS = {7: torch.strided}
_MEMORY_FORMATS = {
    1: torch.contiguous_format,
    2: torch.channels_last,
    3: torch.channels_last_3d,
    4: torch.preserve_format,
}
# Plain values: their type, and in how many lists they stand.
_PLAIN: dict[str, tuple[type, int]] = {
    "as_int": (int, 0),
    "as_ints": (int, 1),
    "as_int_lists": (int, 2),
    "as_bool": (bool, 0),
    "as_bools": (bool, 1),
    "as_string": (str, 0),
    "as_strings": (str, 1),
}
_POSITIONAL = 1
_OWN_TENSORS = {
    "parameter": "parameter_name",
    "buffer": "buffer_name",
    "tensor_constant": "tensor_constant_name",
}


def build_graph(
    document: Json, read_tensor: Callable[[str], Tensor], *, device: torch.device
) -> fx.GraphModule:
    """Return the program as a module on `device` that takes its inputs in order and returns its one output.

    `read_tensor` gives the tensor of a name; only those that the graph uses are asked for. Each node says in
    `meta["dtype"]` and `meta["sizes"]` what it results in, a free size being None, and in `meta["module"]`
    where it was traced. `document` has been found without fault; raises KeyError, TypeError, ValueError or
    AttributeError where it is no program after all.
    """
    return _Builder(document, read_tensor, device).build()


class _Builder:
    def __init__(self, document: Json, read_tensor: Callable[[str], Tensor], device: torch.device) -> None:
        module = as_table(as_table(document)["graph_module"])
        self._signature = as_table(module["signature"])
        self._stored = as_table(module["graph"])
        self._metas = as_table(self._stored["tensor_values"])
        self._read_tensor = read_tensor
        self._device = device
        self._module = nn.Module()
        self._graph = fx.Graph()
        self._values: dict[str, fx.Node] = {}
        # The program's own tensors by the value that stands for them, until one is used.
        self._unused: dict[str, str] = {}

    def build(self) -> fx.GraphModule:
        for spec in map(as_table, as_list(self._signature["input_specs"])):
            self._add_input(*_only(spec))
        for node in map(as_table, as_list(self._stored["nodes"])):
            self._add_operation(node)
        for spec in map(as_table, as_list(self._signature["output_specs"])):
            if "user_output" not in spec:
                raise ValueError(f"the program has an output of the kind {next(iter(spec))!r}")
        (output,) = map(as_table, as_list(self._stored["outputs"]))
        self._graph.output(self._argument(output))
        return fx.GraphModule(self._module, self._graph)

    def _add_input(self, kind: str, content: Json) -> None:
        argument = as_table(as_table(content)["arg"])
        if kind in _OWN_TENSORS:
            self._unused[str(argument["name"])] = str(as_table(content)[_OWN_TENSORS[kind]])
        elif kind == "user_input":
            name = str(as_table(argument["as_tensor"])["name"])
            self._values[name] = self._graph.placeholder(f"input_{len(self._values)}")
            self._describe(self._values[name], name)
        else:
            raise ValueError(f"the program has an input of the kind {kind!r}")

    def _add_operation(self, stored: dict[str, Json]) -> None:
        args: list[Argument] = []
        kwargs: dict[str, Argument] = {}
        for given in map(as_table, as_list(stored["inputs"])):
            value = self._argument(as_table(given["arg"]))
            if given["kind"] == _POSITIONAL:
                args.append(value)
            else:
                kwargs[str(given["name"])] = value
        operation = _find_operation(str(stored["target"]))
        if _changes_tensors(operation) and any(
            isinstance(value, fx.Node) and value.op == "get_attr" for value in (*args, *kwargs.values())
        ):
            raise ValueError("the program changes its own tensors")
        node = self._graph.call_function(operation, tuple(args), kwargs)
        node.meta["module"] = _innermost_module(as_table(stored.get("metadata", {})))
        outputs = [_only(as_table(output)) for output in as_list(stored["outputs"])]
        if len(outputs) == 1 and outputs[0][0] == "as_tensors":
            self._add_parts(node, [str(as_table(part)["name"]) for part in as_list(outputs[0][1])])
        elif len(outputs) == 1:
            self._name(node, *outputs[0])
        else:
            for index, (kind, content) in enumerate(outputs):
                if kind != "as_none":
                    self._name(self._part(node, index), kind, content)

    def _add_parts(self, node: fx.Node, names: list[str]) -> None:
        for index, name in enumerate(names):
            self._name(self._part(node, index), "as_tensor", {"name": name})

    def _part(self, node: fx.Node, index: int) -> fx.Node:
        return self._graph.call_function(operator.getitem, (node, index))

    def _name(self, node: fx.Node, kind: str, content: Json) -> None:
        key = "name" if kind == "as_tensor" else "as_name"
        name = str(as_table(content)[key])
        self._values[name] = node
        if kind == "as_tensor":
            self._describe(node, name)

    def _describe(self, node: fx.Node, name: str) -> None:
        stored = as_table(self._metas[name])
        node.meta["dtype"] = DTYPES[as_size(stored["dtype"])]
        sizes = [as_table(size) for size in as_list(stored["sizes"])]
        node.meta["sizes"] = [as_size(size["as_int"]) if "as_int" in size else None for size in sizes]

    def _find(self, name: str) -> fx.Node:
        if name in self._unused:
            attribute = f"tensor_{len(self._unused)}"
            tensor = self._read_tensor(self._unused.pop(name)).to(self._device)
            self._module.register_buffer(attribute, tensor)
            self._values[name] = self._graph.get_attr(attribute)
            self._values[name].meta["dtype"] = tensor.dtype
        return self._values[name]

    def _argument(self, stored: dict[str, Json]) -> Argument:
        kind, value = _only(stored)
        if kind in _PLAIN:
            return _plain(value, *_PLAIN[kind])
        match kind:
            case "as_none":
                return None
            case "as_tensor":
                return self._find(str(as_table(value)["name"]))
            case "as_optional_tensor":
                return self._argument(as_table(value))
            case "as_tensors":
                return [self._find(str(as_table(item)["name"])) for item in as_list(value)]
            case "as_optional_tensors":
                return [self._argument(as_table(item)) for item in as_list(value)]
            case "as_float":
                return _real(value)
            case "as_floats":
                return [_real(item) for item in as_list(value)]
            case "as_sym_int" | "as_sym_float" | "as_sym_bool":
                return self._size(value)
            case "as_sym_ints" | "as_sym_floats" | "as_sym_bools":
                return [self._size(item) for item in as_list(value)]
            case "as_scalar_type":
                return DTYPES[as_size(value)]
            case "as_layout":
                return _LAYOUTS[as_size(value)]
            case "as_memory_format":
                return _MEMORY_FORMATS[as_size(value)]
            case "as_device":
                return self._device
        raise ValueError(f"the program has an argument of the kind {kind!r}")

    def _size(self, stored: Json) -> Argument:
        kind, value = _only(as_table(stored))
        if kind == "as_name":
            return self._find(str(value))
        return _real(value) if kind == "as_float" else _plain(value, *_PLAIN[kind])


def _innermost_module(metadata: dict[str, Json]) -> str:
    """Name the module that an operation was traced in, such as "network.synthesis.b4.conv1"."""
    innermost = str(metadata.get("nn_module_stack", "")).split(";")[-1].split(",")
    return innermost[1] if len(innermost) > 1 else ""


def _find_operation(target: str) -> Callable[..., object]:
    """Look up what `program_document` allows: an operator of torch or gantune, or arithmetic of sizes."""
    path = target.removeprefix("torch.ops.").split(".")
    if target.startswith("torch.ops."):
        namespace, name, overload = path
        packet = getattr(getattr(torch.ops, namespace), name)
        return cast(Callable[..., object], getattr(packet, overload))
    module = {"_operator": operator, "torch": torch, "math": math}[path[0]]
    return cast(Callable[..., object], getattr(module, path[1]))


def _changes_tensors(operation: Callable[..., object]) -> bool:
    return isinstance(operation, torch._ops.OpOverload) and bool(operation._schema.is_mutable)


def _only(stored: dict[str, Json]) -> tuple[str, Json]:
    """Give the one kind and content of a union."""
    (pair,) = stored.items()
    return pair


def _plain(value: Json, type_: type, depth: int) -> Argument:
    """Return a value of the type that its kind promises: a text could name a file."""
    if depth:
        return [_plain(item, type_, depth - 1) for item in as_list(value)]
    if type(value) is not type_:
        raise TypeError(f"the program has {value!r} where {type_.__name__} belongs")
    return cast(Argument, value)


def _real(value: Json) -> float:
    """Read a number; infinities and NaN are written as words."""
    return float(cast(float | str, value))
