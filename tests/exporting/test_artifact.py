from pathlib import Path

import pytest

from gantune.errors import StorageError
from gantune.exporting.artifact import new_folder


def test_the_folder_appears_when_it_is_complete(tmp_path: Path) -> None:
    with new_folder(tmp_path / "out") as folder:
        (folder / "file").write_text("1")
        assert not (tmp_path / "out").exists()
    assert (tmp_path / "out" / "file").read_text() == "1"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_nothing_is_left_behind_by_a_failure(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "file").write_text("1")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), new_folder(tmp_path / "out") as folder:
        fail(folder)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_something_in_it_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "precious").write_text("1")
    with pytest.raises(StorageError, match="already exists and is not empty"), new_folder(tmp_path / "out"):
        pass
    assert (tmp_path / "out" / "precious").exists()
