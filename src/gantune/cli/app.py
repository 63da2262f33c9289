"""The command line as a whole: the catalogue of commands, and exit codes instead of tracebacks."""

import errno
import logging
import os
import sys
from collections.abc import Callable

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
from gantune.errors import GantuneError, InterruptedRunError, StorageError

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

_UNWRITABLE = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EFBIG}


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
        app.command()(command)
    return app


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
    logging.basicConfig(level=logging.WARNING, format="gantune: %(message)s", stream=sys.stderr)
    try:
        build_app()()
    except GantuneError as error:
        _fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        _fail("Interrupted.", InterruptedRunError.exit_code)
    except BrokenPipeError:
        # The reader of our output went away (`| head`): nothing is wrong, and nothing more can be said.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        if error.errno not in _UNWRITABLE:
            raise
        place = f" at {error.filename}" if error.filename else ""
        _fail(
            f"Could not write{place}: {error.strerror}. Free space or name another --out.",
            StorageError.exit_code,
        )


def _fail(message: str, exit_code: int) -> None:
    print(f"gantune: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(exit_code)
