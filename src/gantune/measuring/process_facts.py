"""What the operating system knows of this process: peak memory, page faults, its parent's death."""

import ctypes
import re
import resource
import signal
import sys
import threading
from pathlib import Path

_STATUS = Path("/proc/self/status")
_PR_SET_PDEATHSIG = 1


def read_peak_bytes() -> int:
    """Give the largest resident memory this process has had."""
    if _STATUS.exists():
        found = re.search(r"^VmHWM:\s*(\d+) kB$", _STATUS.read_text(), re.MULTILINE)
        if found is not None:
            return int(found.group(1)) * 1024
    # ru_maxrss counts kilobytes on Linux and bytes on macOS.
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def read_resident_bytes() -> int:
    """Give the memory this process holds now; 0 where the system does not say."""
    path = Path("/proc/self/statm")
    return int(path.read_text().split()[1]) * resource.getpagesize() if path.exists() else 0


def count_minor_faults() -> int:
    """Count the page faults so far that needed no reading from disk."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def read_run_delay_ns() -> int:
    """Give the nanoseconds this thread was ready and had no core; 0 where the system does not count them."""
    path = Path(f"/proc/self/task/{threading.get_native_id()}/schedstat")
    if not path.exists():
        return 0
    return int(path.read_text().split()[1])


def die_with_parent() -> None:
    """Ask Linux to kill this process when its parent dies: a stopped one would otherwise stay forever."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
