"""Which line of the user's own code a stack stands on, and which phase its function names say it is in."""

import re
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

from gantune.profiling.phases import AUGMENT, DATA, EMA, METRICS, PATH_LENGTH, R1

_LIBRARIES = tuple(
    {str(Path(sysconfig.get_path(name)).resolve()) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
)
_OWN = str(Path(__file__).resolve().parents[2])
_MAX_DEPTH = 60
# Words of a function's name, between underscores, capitals or the ends.
_HINTS = (
    (R1, r"r1|gradient_penalty|grad_penalty|zero_centered"),
    (PATH_LENGTH, r"path_length|pl_penalty|ppl_reg\w*"),
    (EMA, r"ema|accumulate|moving_average|update_average\w*"),
    (AUGMENT, r"\w*augment\w*|aug|diffaug|preprocess\w*|jitter\w*|cutout|random_(crop|flip|shift|affine)"),
    (METRICS, r"metrics?|fid|kid|evaluate|save_(images?|grid|samples?)|sample_images|snapshot"),
    (
        DATA,
        r"(load|read|fetch|get|next|make|sample)_(real_?)?(batch|images?|data|samples?)|decode\w*|__getitem__|collate\w*",
    ),
)
_COMPILED = tuple(
    (phase, re.compile(rf"(^|[._])({words})($|[._])", re.IGNORECASE)) for phase, words in _HINTS
)


class Place(NamedTuple):
    """A line of the user's code, written `file.py(12): function`, and the phase its functions name."""

    line: str
    phase: str | None


class StackReader:
    """Read stacks quickly: what is known of a function is remembered."""

    def __init__(self) -> None:
        self._folder = str(Path.cwd())
        self._files: dict[str, str | None] = {}
        self._phases: dict[CodeType, str | None] = {}

    def read(self, frame: FrameType | None) -> Place | None:
        """Give the innermost line of the user's code, None where the stack has none."""
        line, phase = None, None
        for found in _walk(frame):
            code = found.f_code
            file = self._file_of(code.co_filename)
            if file is None:
                continue
            line = line or f"{file}({found.f_lineno}): {code.co_name}"
            phase = self._phase_of(code)
            if phase is not None:
                break
        return None if line is None else Place(line, phase)

    def _file_of(self, name: str) -> str | None:
        """Write a file of the user's relative to the working folder; None for a library's."""
        if name not in self._files:
            self._files[name] = self._judge_file(name)
        return self._files[name]

    def _judge_file(self, name: str) -> str | None:
        if name.startswith("<"):
            return None
        path = str(Path(name).resolve())
        is_library = path.startswith(_LIBRARIES) or "site-packages" in path or path.startswith(_OWN)
        return None if is_library else path.removeprefix(self._folder + "/")

    def _phase_of(self, code: CodeType) -> str | None:
        if code not in self._phases:
            self._phases[code] = name_function_phase(getattr(code, "co_qualname", code.co_name))
        return self._phases[code]


def name_function_phase(name: str) -> str | None:
    """Give the phase that a function's name says, None where it says none."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.replace("<locals>.", ""))
    for phase, pattern in _COMPILED:
        if pattern.search(spaced):
            return phase
    return None


def _walk(frame: FrameType | None) -> Iterator[FrameType]:
    for _ in range(_MAX_DEPTH):
        if frame is None:
            return
        yield frame
        frame = frame.f_back


def frame_of_thread(identifier: int) -> FrameType | None:
    """Give what a thread of this process is doing now."""
    return sys._current_frames().get(identifier)
