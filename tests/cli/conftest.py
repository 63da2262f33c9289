import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from gantune.cli import main


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


@pytest.fixture
def gantune(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[..., Outcome]:
    """Run the command line in this process, as the installed script does, with a cache of its own."""
    monkeypatch.setenv("GANTUNE_CACHE", str(tmp_path_factory.mktemp("cache")))

    def run(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["gantune", *map(str, arguments)])
        code: object = 0
        try:
            main()
        except SystemExit as stop:
            code = stop.code
        captured = capsys.readouterr()
        return Outcome(int(str(code or 0)), captured.out, captured.err)

    return run
