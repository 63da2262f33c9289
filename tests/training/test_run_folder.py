import subprocess
import sys
from itertools import chain, repeat

import pytest

from gantune.errors import UsageError
from gantune.training import run_folder
from gantune.training.run_folder import create_run_folder, find_state, hold_run, snapshot_path

HOLD = """
import sys
from pathlib import Path
from gantune.training.run_folder import hold_run
with hold_run(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_folders_are_numbered_after_those_there(tmp_path):
    (tmp_path / "00007-other").mkdir()
    (tmp_path / "notes").mkdir()
    assert create_run_folder(tmp_path, "stylegan2-x").name == "00008-stylegan2-x"
    assert create_run_folder(tmp_path / "new", "y").name == "00000-y"


def test_a_number_that_another_run_took_meanwhile_is_not_used_twice(tmp_path, monkeypatch):
    (tmp_path / "00000-other").mkdir()
    monkeypatch.setattr(run_folder, "_taken_numbers", _once([], run_folder._taken_numbers))
    assert create_run_folder(tmp_path, "y").name == "00001-y"
    assert sorted(item.name for item in tmp_path.iterdir()) == ["00000-other", "00001-y"]


def _once(first, later):
    answers = chain([lambda _: first], repeat(later))
    return lambda outdir: next(answers)(outdir)


def test_a_run_folder_is_for_one_process_at_a_time(tmp_path):
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(UsageError, match="is being trained by another process"), hold_run(tmp_path):
            pass
        other.kill()
        other.wait()
        with hold_run(tmp_path):
            pass


def test_snapshots_are_named_by_thousands_of_images(tmp_path):
    assert snapshot_path(tmp_path, 12_345).name == "network-snapshot-000012.safetensors"


def test_a_folder_without_a_state_cannot_be_resumed(tmp_path):
    with pytest.raises(UsageError, match="Start it anew"):
        find_state(tmp_path)
