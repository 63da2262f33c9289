"""A program may compute tensors and sizes, and nothing else."""

from typing import Any

import pytest

from gantune.runtime.engines.program_document import find_fault


def document(**changes: Any) -> Any:
    """Give a small program: one operation."""
    node = {
        "target": changes.get("target", "torch.ops.aten.mul.Tensor"),
        "inputs": [{"name": changes.get("argument", "self"), "arg": changes.get("arg", {"as_int": 1})}],
        "outputs": [{"as_tensor": {"name": "mul"}}],
        "metadata": {"stack_trace": "File 'x.py', line 3: anything; at all()"},
    }
    return {"graph_module": {"graph": {"nodes": [node]}}, "guards_code": ["print('never run')"]}


ALLOWED: tuple[dict[str, Any], ...] = (
    {},
    {"argument": ""},
    {"target": "torch.ops.gantune.bias_act.default", "argument": "act", "arg": {"as_string": "lrelu"}},
    {"target": "torch.ops.aten.einsum.default", "argument": "equation", "arg": {"as_string": "ij,jk->ik"}},
    {"target": "_operator.floordiv"},
    {"target": "torch.sym_max"},
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
    {"argument": "a=print(), b"},
    {"argument": "a\nb"},
    {"argument": "class"},
)


@pytest.mark.parametrize("changes", ALLOWED, ids=str)
def test_a_program_of_tensor_operations_has_no_fault(changes: dict[str, Any]) -> None:
    assert find_fault(document(**changes)) is None


@pytest.mark.parametrize("changes", REFUSED, ids=str)
def test_what_could_do_anything_else_is_a_fault(changes: dict[str, Any]) -> None:
    assert find_fault(document(**changes))
