"""The one OpenVINO core of the process.

OpenVINO's CPU plugin gives the main thread a signal stack of its own when it is loaded, and takes it away
when the last core and the last compiled network of that plugin are gone. With two cores that end in the
order in which they began, the second puts back the stack of the first, which is freed by then: the next
signal (a child that ends, an alarm, Ctrl-C) kills the process without a word (seen with OpenVINO 2026.4). A
core that lives as long as the process never gives its stack back. It also shares the plugin's threads and
caches.
"""

from functools import cache

import openvino


@cache
def shared_core() -> openvino.Core:
    """Return the core that every network of this process is read and compiled with; it is never freed."""
    return openvino.Core()
