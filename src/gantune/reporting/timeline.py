"""The events a page draws: columns, packed as text that the page's script unpacks into typed arrays."""

import base64
import json
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

# The groups of color; a page draws no more than these.
GROUPS = ("operator", "runtime", "kernel", "copy", "python", "range", "step", "other")


@dataclass(frozen=True)
class Timeline:
    """Events sorted by lane and then by start; in one lane they do not overlap.

    Times are microseconds from the window's start. `group` numbers GROUPS, `name` numbers `names`.
    `num_events` counts what there was before the shortest were left out.
    """

    lanes: tuple[str, ...]
    names: tuple[str, ...]
    start_us: NDArray[np.float64]
    duration_us: NDArray[np.float32]
    lane: NDArray[np.uint16]
    name: NDArray[np.uint32]
    group: NDArray[np.uint8]
    num_events: int


def pack_timeline(timeline: Timeline) -> Markup:
    """Write the timeline as JSON that is safe inside a script element."""
    columns = {
        "start": timeline.start_us.astype("<f8"),
        "duration": timeline.duration_us.astype("<f4"),
        "lane": timeline.lane.astype("<u2"),
        "name": timeline.name.astype("<u4"),
        "group": timeline.group.astype("<u1"),
    }
    packed = {name: base64.b64encode(column.tobytes()).decode("ascii") for name, column in columns.items()}
    text = json.dumps(
        {"lanes": timeline.lanes, "names": timeline.names, "groups": GROUPS, **packed}, ensure_ascii=True
    )
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)
