"""The process that runs one subject: `python -m gantune.measuring.worker`, one JSON document a line each way.

The first line is the subject; then commands `load`, `prepare`, `run`, `output`, `facts`, `exit`. An answer
holds either the command's results or `error`, one sentence. What libraries write to standard output goes to
standard error.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

import numpy as np

from gantune.errors import GantuneError, UsageError
from gantune.machine import find_allocator
from gantune.measuring.latency import time_call
from gantune.measuring.loaded_subject import Call, LoadedSubject, open_subject
from gantune.measuring.process_facts import count_minor_faults, die_with_parent, read_peak_bytes
from gantune.measuring.subject import Subject
from gantune.runtime.sampling import draw_inputs

Message = dict[str, object]


class Worker:
    """Hold the subject between commands."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._loaded: LoadedSubject | None = None
        self._call: Call | None = None

    def load(self, _message: Message) -> Message:
        """Load the subject, its engine's import included; answer `load_ms`."""
        opened: list[LoadedSubject] = []
        load_ms = time_call(lambda: opened.append(open_subject(self._subject)))
        self._loaded = opened[0]
        return {"load_ms": load_ms}

    def prepare(self, message: Message) -> Message:
        """Take the inputs from the file `inputs` or draw `batch_size` of them from `seed`."""
        loaded = self._require_loaded()
        if "inputs" in message:
            with np.load(Path(str(message["inputs"])), allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in stored.files}
        else:
            batch_size, seed, size = (
                int(str(message[name])) for name in ("batch_size", "seed", "image_size")
            )
            arrays = dict(draw_inputs(loaded.inputs, batch_size, seed, image_size=size))
        self._call = loaded.prepare(arrays)
        return {}

    def run(self, message: Message) -> Message:
        """Run `num_calls` times; answer `durations_ms` and `minor_faults`, one number a call."""
        call = self._require_call()
        durations_ms: list[float] = []
        minor_faults: list[int] = []
        for _ in range(int(str(message["num_calls"]))):
            faults = count_minor_faults()
            durations_ms.append(time_call(call))
            minor_faults.append(count_minor_faults() - faults)
        return {"durations_ms": durations_ms, "minor_faults": minor_faults}

    def output(self, message: Message) -> Message:
        """Run once and save the output to the file `path`."""
        array = self._require_loaded().to_array(self._require_call()())
        np.save(Path(str(message["path"])), array, allow_pickle=False)
        return {"shape": list(array.shape)}

    def facts(self, _message: Message) -> Message:
        """Answer memory, allocator, precision and fallbacks, memory first: reading the others takes some."""
        loaded = self._require_loaded()
        facts: Message = {"peak_bytes": read_peak_bytes(), "live_bytes": loaded.count_live_bytes()}
        facts["allocator"] = loaded.allocator or find_allocator()
        facts["precision_used"] = loaded.read_precision()
        facts["fallbacks"] = [fallback.model_dump() for fallback in loaded.list_fallbacks()]
        return facts

    def _require_loaded(self) -> LoadedSubject:
        if self._loaded is None:
            raise UsageError("the worker has loaded nothing; send the command load first")
        return self._loaded

    def _require_call(self) -> Call:
        if self._call is None:
            raise UsageError("the worker has no inputs; send the command prepare first")
        return self._call


def serve(commands: TextIO, answers: TextIO) -> None:
    """Answer every line of `commands` until it ends or says `exit`."""
    worker = Worker(Subject.model_validate_json(commands.readline()))
    actions: dict[str, Callable[[Message], Message]] = {
        "load": worker.load,
        "prepare": worker.prepare,
        "run": worker.run,
        "output": worker.output,
        "facts": worker.facts,
    }
    for line in commands:
        message: Message = json.loads(line)
        if message["command"] == "exit":
            return
        try:
            answer = actions[str(message["command"])](message)
        except GantuneError as error:
            answer = {"error": str(error)}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def main() -> None:
    """Serve on the standard streams, keeping what libraries print out of the answers."""
    die_with_parent()
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    serve(sys.stdin, answers)


if __name__ == "__main__":
    main()
