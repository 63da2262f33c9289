"""Starts to watch in the script's own process, as soon as the script has imported torch."""

import atexit
import os
import sys
import threading
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING

from gantune.machine.environment import read_variable
from gantune.profiling.launch.options import WatchOptions

if TYPE_CHECKING:
    from gantune.profiling.launch.recorder import Recorder

VARIABLE = "GANTUNE_WATCH"
# A script that catches SystemExit, or hangs while it ends, is ended all the same.
_GRACE_S = 15.0


class _TorchFinder(MetaPathFinder):
    """Find torch as always, and call back once its import is complete."""

    def __init__(self, on_import: Callable[[], None]) -> None:
        self._on_import = on_import

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Give torch's own specification with a loader that reports back."""
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            spec.loader = _ReportingLoader(spec.loader, self._on_import)
        return spec


class _ReportingLoader(Loader):
    def __init__(self, loader: Loader, on_import: Callable[[], None]) -> None:
        self._loader = loader
        self._on_import = on_import

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._on_import()


def watch_script(prepare: Callable[[WatchOptions], None] | None = None) -> None:
    """Wait for torch, then `prepare` and record; does nothing where no launcher asked for it."""
    text = read_variable(VARIABLE)
    if text is None:
        return
    options = WatchOptions.from_json(text)
    (options.folder / f"python-{os.getpid()}").touch()

    def begin() -> None:
        if prepare is not None:
            prepare(options)
        _record(options)

    sys.meta_path.insert(0, _TorchFinder(begin))


def _record(options: WatchOptions) -> None:
    from gantune.profiling.launch.recorder import Recorder

    recorder = Recorder(options, _end_script if options.is_stopping else lambda: None)
    recorder.begin()
    atexit.register(recorder.finish)
    os.register_at_fork(after_in_child=recorder.forget)
    (options.folder / f"torch-{os.getpid()}").touch()
    _note_exceptions(recorder, options.folder)


def _note_exceptions(recorder: "Recorder", folder: Path) -> None:
    """Keep the last line of an uncaught exception; the script's own hook still prints it."""
    original = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        text = " ".join(f"{kind.__name__}: {error}".split())
        recorder.exception = text
        (folder / f"exception-{os.getpid()}").write_text(text, encoding="utf-8")
        original(kind, error, trace)

    sys.excepthook = hook


def _end_script() -> None:
    """End the process from inside its training loop, as if the script had called `sys.exit()`."""
    timer = threading.Timer(_GRACE_S, os._exit, args=(0,))
    timer.daemon = True
    timer.start()
    raise SystemExit(0)
