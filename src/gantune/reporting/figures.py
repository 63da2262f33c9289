"""A figure: a number taken from the report's JSON by its path, and written so that it can be traced back."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from markupsafe import Markup, escape

Json: TypeAlias = "Mapping[str, Json] | Sequence[Json] | str | int | float | bool | None"

ABSENT = "–"


@dataclass(frozen=True)
class Unit:
    """How a quantity is shown: the stored value is `scale` times the shown one; `write` rounds it."""

    suffix: str
    write: Callable[[float], str]
    scale: float = 1.0


def write_significant(value: float) -> str:
    """Round to three significant digits, with thousands separated: 0.0351, 35.1, 1,640."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    decimals = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}"


def write_ratio(value: float) -> str:
    """Round a ratio to two decimals, and to one from ten on."""
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


UNITS: dict[str, Unit] = {
    "ratio": Unit("×", write_ratio),
    "ms": Unit(" ms", write_significant),
    "us": Unit(" µs", write_significant),
    "microseconds": Unit(" µs", write_significant, scale=1e-3),
    "seconds": Unit(" s", write_significant, scale=1e3),
    "db": Unit(" dB", "{:.1f}".format),
    "small_db": Unit(" dB", "{:.2f}".format),
    "kib": Unit(" KiB", write_significant, scale=2.0**10),
    "mib": Unit(" MiB", write_significant, scale=2.0**20),
    "gib": Unit(" GiB", write_significant, scale=2.0**30),
    "images_s": Unit(" images/s", write_significant),
    "joules": Unit(" J", write_significant),
    "frequency": Unit("", "{:.3f}".format),
    "percent": Unit(" %", "{:.1f}".format, scale=0.01),
    "count": Unit("", "{:,.0f}".format),
    "thousands": Unit(" k", write_significant, scale=1e3),
    "millions": Unit(" M", write_significant, scale=1e6),
    "billions": Unit(" G", write_significant, scale=1e9),
    "similarity": Unit("", "{:.4f}".format),
    "error": Unit("", "{:.2g}".format),
}

# Quantities without a natural size: the largest of their units that is not above the value is shown.
# A "duration" is stored in milliseconds.
RANGES: dict[str, tuple[str, ...]] = {
    "bytes": ("kib", "mib", "gib"),
    "duration": ("microseconds", "ms", "seconds"),
    "amount": ("count", "thousands", "millions", "billions"),
}


def choose_unit(value: float, unit: str) -> Unit:
    """Return the unit called `unit`, or the one of a range ("bytes", "amount") that fits the value."""
    names = RANGES.get(unit, (unit,))
    fitting = [name for name in names if UNITS[name].scale <= abs(value)]
    return UNITS[(fitting or names[:1])[-1]]


def look_up(document: Json, path: str) -> Json:
    """Follow a path such as `candidates.0.latency_ms.p50`; raise a LookupError where it leads nowhere."""
    value = document
    for key in path.split("."):
        if isinstance(value, Mapping):
            value = value[key]
        elif isinstance(value, Sequence) and not isinstance(value, str):
            value = value[int(key)]
        else:
            raise KeyError(f"{path}: nothing below {value!r}")
    return value


def write_value(value: float | None, unit: str) -> str:
    """Write a stored value in its unit, suffix included; a dash where there is no value."""
    if value is None:
        return ABSENT
    chosen = choose_unit(value, unit)
    return chosen.write(value / chosen.scale) + chosen.suffix


def write_figure(document: Json, path: str, unit: str) -> Markup:
    """Write the number at `path` as HTML whose `data-source` and `data-scale` lead back to the JSON."""
    value = look_up(document, path)
    if value is None:
        return Markup('<span class="absent">') + ABSENT + Markup("</span>")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{path} holds {value!r}; a figure is a number")
    chosen = choose_unit(value, unit)
    shown, suffix = chosen.write(value / chosen.scale), escape(chosen.suffix)
    if suffix.startswith(" "):
        suffix = Markup(f'<span class="unit">{suffix}</span>')
    return Markup(
        f'<data value="{value!r}" data-source="{escape(path)}" data-scale="{chosen.scale!r}">'
        f"{shown}</data>{suffix}"
    )
