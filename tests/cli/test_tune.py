"""`gantune tune`: what it must refuse, and that it mends a script and keeps nothing harmful."""

import subprocess
import sys
from pathlib import Path

import pytest

from gantune.profiling.script_record import ScriptRecord
from gantune.tuning.loop import TuneOptions, tune_script
from gantune.tuning.remedies import Remedy, list_remedies
from planted.harmful import HARMFUL

TESTS = Path(__file__).parents[1]


def tune(*arguments: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "gantune", "tune", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=280)


@pytest.mark.slow
def test_bad_input_is_one_sentence_and_its_exit_code(tmp_path: Path) -> None:
    (tmp_path / "tuning.json").write_text("{}")
    for found, code, sentence in (
        (tune(), 2, "No script is named"),
        (tune("--out", tmp_path, "--", "python", "train.py"), 9, "is there already"),
        (tune("--", "no-such-interpreter", "train.py"), 8, "could not be started"),
        (tune("--", sys.executable, "-c", "import torch; raise ValueError('no faces')"), 8, "no faces"),
    ):
        assert found.returncode == code, found.stderr
        assert sentence in found.stderr.strip().splitlines()[-1]
        assert found.stdout == ""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_slow_loader_is_mended_and_nothing_harmful_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(TESTS))

    def catalogue(record: ScriptRecord) -> tuple[Remedy, ...]:
        workers = [remedy for remedy in list_remedies(record) if remedy.group == "workers"]
        return (*workers[-1:], *HARMFUL)

    script = [sys.executable, str(TESTS / "planted" / "plain_loop.py"), "--steps", "100000", "--batch", "8"]
    found = tune_script([*script, "--fault", "loader"], TuneOptions(num_pairs=2), catalogue=catalogue)
    assert len(found.kept) == 1
    assert found.kept[0].endswith(("workers", "worker"))
    assert found.gain.median > 1.2
    status = {attempt.name: attempt.reason for attempt in found.attempts if attempt.status == "rejected"}
    assert "batches of 4 instead of 8" in status["half batches"]
    assert "weights" in status["no generator"]
