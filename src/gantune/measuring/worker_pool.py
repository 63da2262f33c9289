"""Workers that stay loaded from one comparison to the next, so that a subject is loaded once."""

from dataclasses import dataclass
from types import TracebackType

from gantune.measuring.process import WorkerProcess
from gantune.measuring.subject import Subject


@dataclass
class PooledWorker:
    """One subject's process, and what its first steps took; None where they are still to be done."""

    worker: WorkerProcess
    load_ms: float | None = None
    first_call_ms: float | None = None

    def load(self) -> float:
        """Load the subject unless it is loaded; return the milliseconds that it took."""
        if self.load_ms is None:
            self.load_ms = self.worker.load()
        return self.load_ms


class WorkerPool:
    """Hold one process for each subject that was asked for; a context manager that ends them all.

    A worker keeps its peak of memory as well, so what it ran before must not have been larger.
    """

    def __init__(self) -> None:
        self._held: dict[str, PooledWorker] = {}

    def __enter__(self) -> "WorkerPool":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def take(self, subject: Subject, *, timeout_s: float = 900) -> PooledWorker:
        """Give the subject's worker, started now where there is none."""
        key = subject.model_dump_json()
        if key not in self._held:
            self._held[key] = PooledWorker(WorkerProcess(subject, timeout_s=timeout_s))
        return self._held[key]

    def drop(self, subject: Subject) -> None:
        """End the subject's worker, if there is one."""
        pooled = self._held.pop(subject.model_dump_json(), None)
        if pooled is not None:
            pooled.worker.close()

    def close(self) -> None:
        """End every worker."""
        for pooled in self._held.values():
            pooled.worker.close()
        self._held.clear()
