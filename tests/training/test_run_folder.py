import pytest

from gantune.errors import UsageError
from gantune.training.run_folder import create_run_folder, find_state, snapshot_path


def test_folders_are_numbered_after_those_there(tmp_path):
    (tmp_path / "00007-other").mkdir()
    (tmp_path / "notes").mkdir()
    assert create_run_folder(tmp_path, "stylegan2-x").name == "00008-stylegan2-x"
    assert create_run_folder(tmp_path / "new", "y").name == "00000-y"


def test_snapshots_are_named_by_thousands_of_images(tmp_path):
    assert snapshot_path(tmp_path, 12_345).name == "network-snapshot-000012.safetensors"


def test_a_folder_without_a_state_cannot_be_resumed(tmp_path):
    with pytest.raises(UsageError, match="Start it anew"):
        find_state(tmp_path)
