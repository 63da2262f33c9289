"""The command line as a whole: the catalogue of commands, and exit codes instead of tracebacks."""

import errno
import functools
import io
import logging
import os
import sys
from collections.abc import Callable
from typing import ParamSpec, cast

import typer

from gantune.cli.bench import bench
from gantune.cli.convert import convert
from gantune.cli.doctor import doctor
from gantune.cli.evaluate import evaluate
from gantune.cli.generate import generate
from gantune.cli.inspect import inspect
from gantune.cli.optimize import optimize
from gantune.cli.profile import profile
from gantune.cli.quantize import quantize
from gantune.cli.report import report
from gantune.cli.train import train
from gantune.cli.tune import tune
from gantune.errors import GantuneError, InterruptedRunError, StorageError, UsageError

COMMANDS: tuple[Callable[..., None], ...] = (
    doctor,
    inspect,
    convert,
    generate,
    profile,
    tune,
    optimize,
    quantize,
    evaluate,
    bench,
    train,
    report,
)

_FULL_OR_FORBIDDEN = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EFBIG}
# Something is in the way of a path, or its name is too long.
_IMPOSSIBLE_PLACE = {
    errno.EEXIST, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOTDIR,
}  # fmt: skip
_Options = ParamSpec("_Options")
# The class of all complaints about options and arguments, whichever package typer has them from.
_WRONG_USAGE = cast(type[typer.BadParameter], typer.BadParameter.__mro__[1])


def build_app() -> typer.Typer:
    """Collect the commands of the catalogue."""
    app = typer.Typer(
        name="gantune",
        help="Make a GAN fast, and prove it.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(_show_version)
    for command in COMMANDS:
        app.command()(_guard(command))
    return app


def _guard(command: Callable[_Options, None]) -> Callable[_Options, None]:
    """Answer Ctrl-C and a reader that went away (`| head`), which typer would answer without a word."""

    @functools.wraps(command)
    def run(*args: _Options.args, **kwargs: _Options.kwargs) -> None:
        try:
            command(*args, **kwargs)
            sys.stdout.flush()
        except KeyboardInterrupt:
            raise InterruptedRunError("Interrupted.") from None
        except BrokenPipeError:
            # Nothing is wrong, and nothing more can be said; Python flushes once more when it ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None

    return run


def _print_version(is_asked: bool) -> None:
    if is_asked:
        from importlib.metadata import version

        print(version("gantune"))
        raise typer.Exit


def _show_version(
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version and stop."
    ),
) -> None:
    """Make a GAN fast, and prove it."""


def main() -> None:
    """Run the command line; every failure a user can cause ends in one sentence and its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A path that is not UTF-8, or a terminal that knows no "×", must not stop a command at its end.
            stream.reconfigure(errors="backslashreplace")
    logging.basicConfig(level=logging.WARNING, format="gantune: %(message)s", stream=sys.stderr)
    try:
        # Without arguments the help is the answer.
        code = build_app()(sys.argv[1:] or ["--help"], standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except GantuneError as error:
        _fail(str(error), error.exit_code)
    except _WRONG_USAGE as error:
        place = "gantune" if error.ctx is None else error.ctx.command_path
        message = f"{error.format_message().rstrip('.')}. See {place} --help."
        _fail(message, UsageError.exit_code)
    except KeyboardInterrupt:
        _fail("Interrupted.", InterruptedRunError.exit_code)
    except OSError as error:
        if error.errno not in _FULL_OR_FORBIDDEN | _IMPOSSIBLE_PLACE:
            raise
        place = error.filename2 or error.filename
        if error.errno in _IMPOSSIBLE_PLACE:
            _fail(f"{place} cannot be used: {error.strerror}. Name another.", StorageError.exit_code)
        _fail(
            f"Could not write{f' at {place}' if place else ''}: {error.strerror}. Free space or name another "
            "--out.",
            StorageError.exit_code,
        )


def _fail(message: str, exit_code: int) -> None:
    print(f"gantune: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(exit_code)
