from pathlib import Path

import pytest

from gantune.backends.compiler import missing_compiler


def test_a_compiler_on_the_path_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert missing_compiler("X needs one") == "X needs one (g++ or clang++), and none was found"
    compiler = tmp_path / "c++"
    compiler.write_text("")
    compiler.chmod(0o755)
    assert missing_compiler("X needs one") is None
