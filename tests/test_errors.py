import pytest

from gantune import errors
from gantune.errors import first_line

# The table of exit codes in the README.
EXIT_CODES = {
    "GantuneError": 1,
    "UsageError": 2,
    "CheckpointError": 3,
    "UnavailableError": 4,
    "UnsupportedError": 5,
    "ExportError": 6,
    "QualityError": 7,
    "ScriptError": 8,
    "StorageError": 9,
    "InterruptedRunError": 130,
}


def test_every_error_has_its_own_exit_code() -> None:
    found = {name: kind.exit_code for name, kind in vars(errors).items() if isinstance(kind, type)}
    assert found == EXIT_CODES


@pytest.mark.parametrize(
    ("message", "line"),
    [("disk full", "disk full"), ("\n  first \nsecond", "first"), ("", "ValueError"), (" \n ", "ValueError")],
)
def test_the_first_line_says_something(message: str, line: str) -> None:
    assert first_line(ValueError(message)) == line
