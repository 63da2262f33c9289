"""Starts somebody else's training script, unchanged, with a watcher inside, and waits for what it records."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from gantune.errors import InterruptedRunError, ScriptError, UnavailableError, UsageError
from gantune.machine.environment import child_environment, read_variable
from gantune.profiling.launch.bootstrap import VARIABLE
from gantune.profiling.launch.options import WatchOptions

PROFILE_BOOTSTRAP = "gantune.profiling.launch.bootstrap"
_SITE = """
import importlib.machinery, importlib.util, os, sys
_here = os.path.dirname(os.path.abspath(__file__))
_next = importlib.machinery.PathFinder.find_spec(
    "sitecustomize", [path for path in sys.path if os.path.abspath(path) != _here])
if _next is not None and _next.loader is not None:
    _next.loader.exec_module(importlib.util.module_from_spec(_next))
if importlib.util.find_spec("gantune") is None:
    sys.path.append(os.path.join(_here, "bridge"))
try:
    from {module} import watch_script
except ImportError as error:
    open(os.path.join({folder!r}, "unwatched"), "w").write(str(error))
else:
    watch_script()
"""
_POLL_S = 0.05
_WAIT_S = 20.0


@dataclass(frozen=True)
class Watched:
    """What a launched script left: its exit status and the folders of the processes that recorded."""

    exit_code: int
    records: tuple[Path, ...]


@contextmanager
def run_watched(
    command: Sequence[str],
    options: WatchOptions,
    *,
    bootstrap: str = PROFILE_BOOTSTRAP,
    environment: Mapping[str, str] | None = None,
    is_quiet: bool = False,
    on_record: Callable[[Path], None] | None = None,
) -> Iterator[Watched]:
    """Run a command with the watcher in every Python process it starts; the records live within the block.

    The script's output goes to standard error, or nowhere with `is_quiet`. `on_record` is called as soon as a
    process has recorded, while the script goes on. Raises `ScriptError` where the command cannot be started,
    and where it recorded nothing the sentence says why; `InterruptedRunError` on Ctrl-C.
    """
    if not command:
        raise UsageError("No script is named. Write it after two dashes: -- python train.py ARGS")
    with tempfile.TemporaryDirectory(prefix="gantune-watch-") as name:
        folder = Path(name)
        _write_site(folder, bootstrap)
        told = replace(options, folder=folder)
        changes = dict(environment or {}) | {VARIABLE: told.to_json(), "PYTHONPATH": _search_path(folder)}
        with (folder / "output").open("w+b") as output:
            process = _start(command, child_environment(changes), output if is_quiet else sys.stderr)
            code = _wait(process, folder, on_record)
            tail = _last_line(folder / "output") if is_quiet else None
        records = _list_records(folder)
        if not records:
            raise _explain(command, folder, code, tail)
        yield Watched(code, records)


def _write_site(folder: Path, bootstrap: str) -> None:
    text = _SITE.format(module=bootstrap, folder=str(folder))
    (folder / "sitecustomize.py").write_text(text, encoding="utf-8")
    (folder / "bridge").mkdir()
    (folder / "bridge" / "gantune").symlink_to(Path(__file__).resolve().parents[2])


def _search_path(folder: Path) -> str:
    before = read_variable("PYTHONPATH")
    return str(folder) if not before else f"{folder}{os.pathsep}{before}"


def _start(
    command: Sequence[str], environment: Mapping[str, str], output: object
) -> "subprocess.Popen[bytes]":
    try:
        return subprocess.Popen(list(command), env=dict(environment), stdout=output, stderr=output)  # type: ignore[call-overload,no-any-return]
    except OSError as error:
        reason = error.strerror or str(error)
        raise ScriptError(
            f"{command[0]} could not be started: {reason}. Check the command after --."
        ) from error


def _wait(process: "subprocess.Popen[bytes]", folder: Path, on_record: Callable[[Path], None] | None) -> int:
    is_told = False
    try:
        while True:
            try:
                return process.wait(_POLL_S)
            except subprocess.TimeoutExpired:
                found = _list_records(folder) if on_record is not None and not is_told else ()
                if found and on_record is not None:
                    is_told = True
                    on_record(found[0])
    except KeyboardInterrupt as stop:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(_WAIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        raise InterruptedRunError("Interrupted; the script was interrupted with it.") from stop


def _list_records(folder: Path) -> tuple[Path, ...]:
    """Give the folders of processes that took steps, the one with most steps first."""
    steps = {}
    for path in folder.glob("*/record.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        if record["num_steps"] > 0 and record["stage"] != "warm-up":
            steps[path.parent] = (-(record["rank"] is not None), record["rank"] or 0, -record["num_steps"])
    return tuple(sorted(steps, key=lambda path: steps[path]))


def _explain(
    command: Sequence[str], folder: Path, code: int, tail: str | None
) -> ScriptError | UnavailableError:
    """Say in one sentence why nothing was recorded."""
    script = " ".join(command[:2])
    exceptions = sorted(folder.glob("exception-*"))
    if exceptions:
        return ScriptError(f"{script} crashed before enough steps were seen: {exceptions[0].read_text()}")
    if (folder / "unwatched").exists():
        reason = (folder / "unwatched").read_text()
        return UnavailableError(
            f"gantune cannot be imported by the Python that runs {script} ({reason}); install gantune there."
        )
    if code != 0:
        how = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit status {code}"
        said = f": {tail}" if tail else ""
        return ScriptError(f"{script} ended {how} before enough steps were seen{said}.")
    if not list(folder.glob("python-*")):
        return ScriptError(
            f"{script} started no Python process, or one that ignores PYTHONPATH (python -I or -E)."
        )
    if not list(folder.glob("torch-*")):
        return ScriptError(f"{script} ended without importing torch, so there is no training to look at.")
    steps = [json.loads(path.read_text()) for path in folder.glob("*/record.json")]
    most = max((int(record["num_steps"]) for record in steps), default=0)
    if most == 0:
        return ScriptError(
            f"{script} ended and never took a training step: "
            "no optimizer step, backward pass or DataLoader batch."
        )
    return ScriptError(
        f"{script} ended after {most} steps, inside the warm-up; let it run longer, or lower --warmup."
    )


def _last_line(path: Path) -> str | None:
    lines = [line.strip() for line in path.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1].rstrip(".") if lines else None
