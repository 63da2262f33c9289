"""The parent's side of one worker: start it, stop and continue it, talk to it, notice its death."""

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from gantune.errors import ScriptError
from gantune.machine import ALLOCATOR_VARIABLES, child_environment
from gantune.measuring.subject import Subject

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
_READ_BYTES = 1 << 16


class WorkerError(ScriptError):
    """A worker refused a command, died or did not answer in time; the message is one sentence."""


class WorkerProcess:
    """Run one subject in a process of its own; a context manager that ends it.

    Between commands the process is stopped, so that its threads, which may spin, take no processor time from
    whatever is measured next. Every command raises WorkerError where the subject refuses or dies.
    """

    def __init__(self, subject: Subject, *, timeout_s: float = 900) -> None:
        self.subject = subject
        self._timeout_s = timeout_s
        self._pending = b""
        self._folder = tempfile.TemporaryDirectory(prefix="gantune-worker-")
        self._messages = (Path(self._folder.name) / "stderr").open("wb")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "gantune.measuring.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._messages,
            env=_environment(subject),
            # A terminal's Ctrl-C is for the parent, which then ends its workers.
            start_new_session=True,
        )
        self._write(subject.model_dump_json())

    def __enter__(self) -> "WorkerProcess":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def process_id(self) -> int:
        """Give the worker's process number."""
        return self._process.pid

    def load(self) -> float:
        """Load the subject; return the milliseconds it took, the import of its engine included."""
        return _numbers(self._ask({"command": "load"}), "load_ms")[0]

    def prepare(self, *, batch_size: int, seed: int, image_size: int) -> None:
        """Draw the subject's inputs from a seed, as `draw_inputs` does."""
        self._ask({"command": "prepare", "batch_size": batch_size, "seed": seed, "image_size": image_size})

    def prepare_arrays(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        """Give the subject its inputs."""
        path = Path(self._folder.name) / "inputs.npz"
        np.savez(path, **dict(arrays))  # type: ignore[arg-type]
        self._ask({"command": "prepare", "inputs": str(path)})

    def run(self, num_calls: int) -> tuple[list[float], list[float]]:
        """Run the subject; return milliseconds and minor page faults, one number a call."""
        answer = self._ask({"command": "run", "num_calls": num_calls})
        return _numbers(answer, "durations_ms"), _numbers(answer, "minor_faults")

    def output(self) -> NDArray[np.float32]:
        """Run the subject once and return its output."""
        path = Path(self._folder.name) / "output.npy"
        self._ask({"command": "output", "path": str(path)})
        array: NDArray[np.float32] = np.load(path, allow_pickle=False)
        return array

    def facts(self) -> dict[str, object]:
        """Return `peak_bytes`, `live_bytes`, `allocator`, `precision_used` and `fallbacks`."""
        return self._ask({"command": "facts"})

    def close(self) -> None:
        """End the process, stopped or not, and remove its files."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._messages):
            if stream is not None:
                _close_quietly(stream)
        self._folder.cleanup()

    def _ask(self, message: Mapping[str, object]) -> dict[str, object]:
        self._signal(signal.SIGCONT)
        self._write(json.dumps(message))
        answer: dict[str, object] = json.loads(self._read_line())
        self._signal(signal.SIGSTOP)
        if "error" in answer:
            raise WorkerError(str(answer["error"]))
        return answer

    def _signal(self, number: signal.Signals) -> None:
        if self._process.poll() is None:
            self._process.send_signal(number)

    def _write(self, line: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise self._death() from error

    def _read_line(self) -> bytes:
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._pending:
                if not selector.select(self._timeout_s):
                    self._process.kill()
                    raise WorkerError(f"{self.subject.name} did not answer within {self._timeout_s:g} s")
                block = os.read(self._process.stdout.fileno(), _READ_BYTES)
                if not block:
                    raise self._death()
                self._pending += block
        line, self._pending = self._pending.split(b"\n", 1)
        return line

    def _death(self) -> WorkerError:
        code = self._process.wait()
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
        text = (Path(self._folder.name) / "stderr").read_text(errors="replace")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        last = lines[-1] if lines else "it wrote nothing"
        return WorkerError(f"the process of {self.subject.name} died ({how}): {last}")


def run_subject(subject: Subject, arrays: Mapping[str, NDArray[np.generic]]) -> NDArray[np.float32]:
    """Run a subject once on `arrays` in a process of its own and return its output.

    Raises WorkerError, a ScriptError, where it refuses or dies.
    """
    with WorkerProcess(subject) as worker:
        worker.load()
        worker.prepare_arrays(arrays)
        return worker.output()


def _environment(subject: Subject) -> dict[str, str]:
    threads = {} if subject.threads is None else dict.fromkeys(_THREAD_VARIABLES, str(subject.threads))
    return child_environment(threads | subject.environment, without=ALLOCATOR_VARIABLES)


def _numbers(answer: Mapping[str, object], name: str) -> list[float]:
    value = answer[name]
    return [float(str(item)) for item in value] if isinstance(value, list) else [float(str(value))]


def _close_quietly(stream: object) -> None:
    """Close a pipe whose other end is gone; what it still held has no reader."""
    try:
        stream.close()  # type: ignore[attr-defined]
    except BrokenPipeError:
        return
