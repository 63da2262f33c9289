import pytest

from gantune.errors import UsageError
from gantune.machine import VARIABLES, child_environment, read_variable, read_variables


def test_every_variable_has_a_meaning_and_stands_once() -> None:
    names = [variable.name for variable in VARIABLES]
    assert len(names) == len(set(names))
    assert all(variable.meaning for variable in VARIABLES)


def test_an_unlisted_variable_is_refused() -> None:
    with pytest.raises(UsageError, match="not listed"):
        read_variable("HOME")


def test_only_set_variables_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("MALLOC_CONF", raising=False)
    assert read_variables()["OMP_NUM_THREADS"] == "7"
    assert "MALLOC_CONF" not in read_variables()
    assert read_variable("MALLOC_CONF") is None


def test_a_child_gets_changes_and_loses_what_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MALLOC_ARENA_MAX", "1")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    environment = child_environment({"OMP_NUM_THREADS": "2"}, without=("MALLOC_ARENA_MAX",))
    assert environment["OMP_NUM_THREADS"] == "2"
    assert "MALLOC_ARENA_MAX" not in environment
