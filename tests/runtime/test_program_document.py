"""Each text of a program is held to what it is used for."""

import json
from typing import Any

import pytest

from gantune.runtime.engines.program_document import find_fault


def document(**changes: Any) -> Any:
    """Give a small program: one operation on a tensor of free size."""
    size = "Mul(Integer(2), Symbol('s95', positive=True, integer=True))"
    node = {
        "target": changes.get("target", "torch.ops.aten.mul.Tensor"),
        "inputs": [{"name": changes.get("argument", "self"), "arg": changes.get("arg", {"as_int": 1})}],
        "outputs": [{"as_tensor": {"name": changes.get("name", "mul")}}],
        "metadata": {"stack_trace": "File 'x.py', line 3: anything; at all()"},
    }
    meta = {"sizes": [{"as_expr": {"expr_str": changes.get("size", size)}}], "dtype": 7}
    graph = {"nodes": [node], "tensor_values": {changes.get("key", "mul"): meta}}
    leaf = {"type": None, "context": None, "children_spec": []}
    tree = {"type": changes.get("type", "builtins.dict"), "context": "[]", "children_spec": [leaf]}
    tree |= changes.get("tree", {})
    call = {"signature": {"in_spec": json.dumps([1, tree]), "forward_arg_names": ["z"]}}
    return {
        "graph_module": {"graph": graph, "module_call_graph": [call], "metadata": {}},
        "torch_version": "2.13.0+cpu",
        "guards_code": ["print('never run')"],
    }


ALLOWED: tuple[dict[str, Any], ...] = (
    {},
    {"target": "torch.ops.gantune.bias_act.default", "argument": "act", "arg": {"as_string": "lrelu"}},
    {"target": "torch.ops.aten.einsum.default", "argument": "equation", "arg": {"as_string": "ij,jk->ik"}},
    {"target": "_operator.floordiv"},
    {"target": "torch.sym_max"},
    {"size": "FloorDiv(Add(Symbol('s0', integer=True), Integer(-1)), Integer(2))"},
    {"arg": {"as_float": "-Infinity"}},
)
REFUSED: tuple[dict[str, Any], ...] = (
    {"target": "torch.load"},
    {"target": "torch.ops.load_library"},
    {"target": "torch.ops.aten.mul.Tensor.__init__.__globals__"},
    {"target": "torch.ops.higher_order.cond"},
    {"target": "_operator.attrgetter"},
    {"target": "math.__loader__"},
    {"target": "#hostile:op"},
    {"target": "torch.ops.aten.save.default", "argument": "filename", "arg": {"as_string": "x"}},
    {"target": "torch.ops.aten.from_file.default", "argument": "filename", "arg": {"as_strings": ["x"]}},
    {"arg": {"as_graph": {}}},
    {"arg": {"as_operator": "torch.load"}},
    {"arg": {"as_custom_obj": {}}},
    {"arg": {"as_string": "'"}},
    {"arg": {"as_float": "1; x"}},
    {"name": "a = 1; b"},
    {"name": "torch.load"},
    {"key": "a\nb"},
    {"size": "__import__('os').system('x')"},
    {"size": "eval(Symbol('s0'))"},
    {"size": "Symbol('s0').__class__"},
    {"size": "Symbol('s0'\n)"},
    {"size": "Symbol('os.system')"},
    {"type": "collections.namedtuple"},
    {"tree": {"context": '{"__enum__": true, "fqn": "x:y", "name": "z"}'}},
    {"tree": {"context": '["a b"]'}},
)


@pytest.mark.parametrize("changes", ALLOWED, ids=str)
def test_a_program_of_tensor_operations_has_no_fault(changes: dict[str, Any]) -> None:
    assert find_fault(document(**changes)) is None


@pytest.mark.parametrize("changes", REFUSED, ids=str)
def test_what_could_become_code_is_a_fault(changes: dict[str, Any]) -> None:
    try:
        fault = find_fault(document(**changes))
    except TypeError as error:
        fault = str(error)
    assert fault
