"""Stop a run between two steps: what is saved is never half a step."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass
class StopRequest:
    """Say which signal asked the run to stop; None while none did."""

    signal: str | None = None


@contextmanager
def stop_between_steps() -> Iterator[StopRequest]:
    """Take the first SIGINT or SIGTERM as a wish to stop, and let the next one act as it would have before.

    A signal that is ignored stays ignored. Only the main thread can take signals; in another one nothing
    changes.
    """
    wish = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield wish
        return
    # What ignores a signal, as `nohup` has it, goes on ignoring it. A handler that was not set from Python
    # cannot be put back; the system's own takes its place.
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    before = {
        number: handler or signal.SIG_DFL for number, handler in handlers.items() if handler != signal.SIG_IGN
    }

    def put_back() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def ask(number: int, _: FrameType | None) -> None:
        wish.signal = signal.Signals(number).name
        put_back()

    try:
        for number in before:
            signal.signal(number, ask)
        yield wish
    finally:
        put_back()
