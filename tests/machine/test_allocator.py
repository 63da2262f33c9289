import pytest

from gantune.machine import find_allocator, is_glibc


@pytest.mark.skipif(not is_glibc(), reason="needs glibc")
def test_glibc_is_told_from_glibc_tuned_by_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MALLOC_MMAP_THRESHOLD_", raising=False)
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)
    assert find_allocator() == "glibc"
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "8000000000")
    assert find_allocator() == "glibc (tuned by MALLOC_TRIM_THRESHOLD_)"
