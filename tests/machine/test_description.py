import subprocess
import sys

import pytest

from gantune.machine import describe_machine, machine_text
from gantune.machine.processor import instruction_sets
from gantune.records.machine import Machine


def test_a_machine_goes_to_json_and_back() -> None:
    machine = describe_machine()
    assert Machine.model_validate_json(machine.model_dump_json()) == machine
    assert machine.num_cores >= 1
    assert machine.memory_bytes > 2**28
    assert machine.libraries["numpy"]


def test_describing_the_machine_imports_no_engine() -> None:
    code = (
        "import sys; from gantune.machine import describe_machine; describe_machine();"
        "print([m for m in ('torch', 'onnxruntime', 'openvino', 'onnx') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "flags\t\t: fpu avx2 avx512f avx512_vnni avx512_bf16\n",
            ("avx2", "avx512f", "avx512_vnni", "avx512_bf16"),
        ),
        ("flags : fpu amx_tile amx_bf16 amx_int8 avx2", ("avx2", "amx_tile", "amx_int8", "amx_bf16")),
        ("Features\t: fp asimd i8mm bf16", ("neon", "bf16", "i8mm")),
        ("flags : fpu sse2", ()),
    ],
)
def test_instruction_sets_are_read_from_the_flags(text: str, expected: tuple[str, ...]) -> None:
    assert instruction_sets(text) == expected


def test_the_text_names_processor_allocator_and_libraries() -> None:
    machine = describe_machine().model_copy(
        update={"allocator": "glibc", "environment": {"OMP_NUM_THREADS": "2"}}
    )
    text = machine_text(machine)
    assert machine.processor in text
    assert "tune_allocator=True" in text
    assert "OMP_NUM_THREADS=2" in text
    assert "tune_allocator" not in machine_text(machine.model_copy(update={"allocator": "tcmalloc"}))


def test_the_linkage_of_torch_is_read_on_request() -> None:
    linkage = describe_machine(with_linkage=True).linkage
    assert linkage is not None
    assert linkage["openmp"] == "linked"
    assert linkage["cpu_capability"]
