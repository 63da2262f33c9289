"""`gantune.Profiler`: profile a training loop from inside its own code, in place of the launcher."""

import functools
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import ParamSpec, TypeVar

from gantune.errors import ScriptError
from gantune.profiling.launch.options import WatchOptions
from gantune.profiling.launch.recorder import Recorder
from gantune.profiling.run import check_folder, write_results
from gantune.profiling.script_profile import judge_record
from gantune.profiling.script_record import read_record
from gantune.records.profile import Profile

_P = ParamSpec("_P")
_R = TypeVar("_R")


class Profiler:
    """Watch the steps taken within its block, or within a function it decorates.

    `with Profiler(out=folder) as profiler: … profiler.step()` once a step. Without calls of `step`
    steps are found as the launcher finds them. `profile` holds the result after the block,
    and a folder gets all views.
    """

    def __init__(
        self, out: Path | str | None = None, *, warmup: int = 3, steps: int = 4, overwrite: bool = False
    ) -> None:
        self.profile: Profile | None = None
        self._out = None if out is None else Path(out)
        self._warmup, self._steps, self._overwrite = warmup, steps, overwrite
        self._recorder: Recorder | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> "Profiler":
        if self._out is not None:
            check_folder(self._out, overwrite=self._overwrite)
        self._folder = tempfile.TemporaryDirectory(prefix="gantune-profiler-")
        options = WatchOptions(
            folder=Path(self._folder.name),
            warmup_steps=self._warmup,
            plain_steps=self._steps,
            sampled_steps=self._steps,
            captured_steps=self._steps,
        )
        self._recorder = Recorder(options, lambda: None)
        self._recorder.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._recorder is not None
        assert self._folder is not None
        self._recorder.finish()
        with self._folder:
            if error is None:
                self._judge(Path(self._folder.name))

    def __call__(self, function: Callable[_P, _R]) -> Callable[_P, _R]:
        """Profile every call of a function."""

        @functools.wraps(function)
        def profiled(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            with self:
                return function(*args, **kwargs)

        return profiled

    def step(self) -> None:
        """Say that a training step is over."""
        assert self._recorder is not None, "step() belongs inside of the profiler's block"
        self._recorder.see_step()

    def _judge(self, folder: Path) -> None:
        records = [read_record(path.parent) for path in folder.glob("*/record.json")]
        recorded = next((one for one in records if one.trace is not None), None)
        if recorded is None:
            raise ScriptError(
                "The block ended before a step could be recorded; take more steps in it, call "
                "step() once a step, or give it a smaller warmup and steps."
            )
        self.profile, scene = judge_record(
            recorded, source="the profiled block", command_line="gantune.Profiler"
        )
        if self._out is not None:
            write_results(self.profile, scene, self._out)
