from pathlib import Path

import pytest

from gantune.machine.whole_files import PARTIAL_SUFFIX, write_text, write_whole


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("is_synced", [False, True])
def test_the_file_appears_when_the_block_ends(tmp_path: Path, is_synced: bool) -> None:
    with write_whole(tmp_path / "a.txt", is_synced=is_synced) as partial:
        partial.write_text("new")
        assert names(tmp_path) == [partial.name]
        assert partial.name.startswith(".")
        assert partial.suffix == PARTIAL_SUFFIX
    assert names(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "new"


def test_a_failure_leaves_what_was_there_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")

    def write_half() -> None:
        with write_whole(tmp_path / "a.txt") as partial:
            partial.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert names(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


def test_the_longest_name_a_file_can_have_is_possible(tmp_path: Path) -> None:
    path = tmp_path / ("a" * 255)
    write_text(path, "text")
    assert path.read_text() == "text"


def test_two_writers_of_one_process_do_not_meet(tmp_path: Path) -> None:
    with write_whole(tmp_path / "a") as first, write_whole(tmp_path / "b") as second:
        first.write_text("1")
        second.write_text("2")
    assert (tmp_path / "a").read_text() + (tmp_path / "b").read_text() == "12"


def test_a_missing_folder_is_made(tmp_path: Path) -> None:
    write_text(tmp_path / "new" / "folder" / "a.txt", "Größe")
    assert (tmp_path / "new" / "folder" / "a.txt").read_bytes() == "Größe".encode()
