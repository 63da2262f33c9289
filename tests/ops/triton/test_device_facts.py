"""Whether the Triton forms can run is found by a feature test and told in one line."""

import pytest
import torch

from gantune.ops.triton import device_facts
from gantune.ops.triton.device_facts import INTERPRETER, find_facts, find_missing, is_interpreting


@pytest.mark.parametrize(("value", "expected"), [(None, False), ("0", False), ("1", True), ("true", True)])
def test_the_interpreter_is_asked_for_by_tritons_own_variable(
    value: str | None, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if value is None:
        monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    else:
        monkeypatch.setenv("TRITON_INTERPRET", value)
    assert is_interpreting() is expected


def test_without_a_device_or_the_interpreter_the_forms_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert "no CUDA device" in str(find_missing())
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert find_missing() is None


def test_without_triton_the_forms_name_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_facts, "find_spec", lambda _: None)
    assert "pip install 'gantune[triton]'" in str(find_missing())


def test_the_cpu_has_the_interpreters_facts() -> None:
    assert find_facts(torch.device("cpu")) == INTERPRETER
