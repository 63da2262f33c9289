"""The bounded stretch of a script that torch's profiler records."""

import ctypes
import threading
from collections.abc import Callable
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

from gantune.measuring.process_facts import read_resident_bytes

_LOOK_S = 0.02
_PENDING = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


class CaptureWindow:
    """Record with torch's profiler, at most `max_s` seconds and while the process holds at most `max_bytes`.

    A step of the script may be endless or make millions of events, so a watching thread ends the recording
    inside of it: it asks the interpreter to call `on_limit` between two instructions of the main thread.
    """

    def __init__(self, *, max_s: float, max_bytes: int, on_limit: Callable[[], None]) -> None:
        self._max_s = max_s
        self._max_bytes = max_bytes
        self._on_limit = on_limit
        self._profile: profile | None = None
        self._is_over = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="gantune-window", daemon=True)
        self._pending = _PENDING(self._stop_at_limit)

    def start(self) -> str | None:
        """Begin to record; give a sentence where the script itself already uses a profiler."""
        activities = [ProfilerActivity.CPU]
        if torch.cuda.is_available():
            activities.append(ProfilerActivity.CUDA)
        try:
            self._profile = profile(activities=activities, record_shapes=True)
            self._profile.start()
        except (RuntimeError, AssertionError) as error:
            self._profile = None
            return f"torch's profiler could not start: {error}"
        self._watcher.start()
        return None

    def stop(self, path: Path) -> int:
        """End, write the trace, and give its size in bytes; 0 where there was nothing to write."""
        self._is_over.set()
        seen, self._profile = self._profile, None
        if seen is None:
            return 0
        seen.stop()
        seen.export_chrome_trace(str(path))
        return path.stat().st_size

    def _watch(self) -> None:
        for _ in range(int(self._max_s / _LOOK_S)):
            if self._is_over.wait(_LOOK_S):
                return
            if read_resident_bytes() > self._max_bytes:
                break
        ctypes.pythonapi.Py_AddPendingCall(self._pending, None)

    def _stop_at_limit(self, _argument: object) -> int:
        if self._profile is not None:
            try:
                self._on_limit()
            except SystemExit:
                # An exception cannot leave a pending call, so another thread raises it in this one.
                raising = threading.Timer(_LOOK_S, _end_thread, args=(threading.get_ident(),))
                raising.daemon = True
                raising.start()
        return 0


def _end_thread(identifier: int) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(identifier), ctypes.py_object(SystemExit))
