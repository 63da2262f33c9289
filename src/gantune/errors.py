"""The one tree of errors that gantune raises on purpose, one exit code each."""


class GantuneError(Exception):
    """Report a failure whose message is one sentence for the user; `exit_code` is the process's answer."""

    exit_code = 1


class UsageError(GantuneError):
    """An option or argument is wrong or contradicts another."""

    exit_code = 2


class CheckpointError(GantuneError):
    """A checkpoint or input file is refused: damaged, hostile, of another kind, or holding NaN weights."""

    exit_code = 3


class UnavailableError(GantuneError):
    """Something asked for is not here: an extra, a device, a weights file."""

    exit_code = 4


class UnsupportedError(GantuneError):
    """The request is understood, and gantune cannot do it."""

    exit_code = 5


class ExportError(GantuneError):
    """A network could not be exported, or an engine could not build it."""

    exit_code = 6


class QualityError(GantuneError):
    """A quality gate that was asked for is not met."""

    exit_code = 7


class ScriptError(GantuneError):
    """The user's own script, or a training run, died."""

    exit_code = 8


class StorageError(GantuneError):
    """A file could not be written: disk full, no permission, already there without `--overwrite`."""

    exit_code = 9


class InterruptedRunError(GantuneError):
    """The user interrupted the run; the message says how to resume it."""

    exit_code = 130


def first_line(error: BaseException) -> str:
    """Give the first line of an error's message that says something, or the error's type where none does."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
