"""The events of a trace file one by one: incremental JSON, plain or gzip, never the whole text in memory."""

import codecs
import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from gantune.errors import CheckpointError
from gantune.profiling.trace.unpacking import UnpackedFile

# One event with its call stack and shapes stays far below this; more means that this is not a trace.
_MAX_VALUE_CHARACTERS = 1 << 26
_BLANK = re.compile(r"[\s,]*")
_decoder = json.JSONDecoder(strict=False)  # profilers write control characters into names

Event = dict[str, object]


@dataclass
class Header:
    """What a trace file says besides its events; complete once all events have been read."""

    fields: dict[str, object] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


class _TornError(Exception):
    """The text ends inside a value."""


def stream_events(path: Path, header: Header) -> Iterator[Event]:
    """Yield every event of a Chrome trace: a JSON object with `traceEvents`, or a bare list.

    A file that ends in the middle gives its whole events and a warning in `header`. Raises `CheckpointError`
    for a file that is empty, binary or no trace.
    """
    if not path.is_file():
        raise CheckpointError(f"There is no trace file at {path}. Name a JSON or JSON.gz trace.")
    file = UnpackedFile(path)
    text = _Text(file.blocks(), path)
    start = text.peek()
    if start not in ("{", "["):
        found = "empty" if start == "" else "not JSON"
        raise CheckpointError(
            f"{path} is {found}; a trace is a JSON object with traceEvents or a JSON list. "
            "Record it again with the profiler's trace export."
        )
    try:
        yield from _elements(text) if start == "[" else _members(text, header)
    except _TornError:
        header.warnings.append("the file ends in the middle; everything up to its last whole event is used")
    if file.damage:
        header.warnings.append(file.damage)


class _Text:
    """A window on the decoded text: what is consumed is dropped, what is missing is read."""

    def __init__(self, blocks: Iterator[bytes], path: Path) -> None:
        self._blocks = blocks
        self._path = path
        self._decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        self._buffer = ""
        self._position = 0
        self._is_over = False

    def peek(self) -> str:
        """Give the next character that is neither blank nor a comma; "" at the end."""
        while True:
            self._position = _BLANK.match(self._buffer, self._position).end()  # type: ignore[union-attr]
            if self._position < len(self._buffer):
                return self._buffer[self._position]
            if not self._refill():
                return ""

    def skip(self) -> None:
        """Consume one character."""
        self._position += 1

    def value(self) -> object:
        """Consume one JSON value; raise _TornError where the text ends inside it."""
        if self.peek() == "":
            raise _TornError
        wanted = 1
        while True:
            try:
                value, end = _decoder.raw_decode(self._buffer, self._position)
            except json.JSONDecodeError as error:
                self._require_unfinished(error)
                if not self._refill(wanted):
                    raise _TornError from None
                # A value of many blocks is tried again only when it has doubled.
                wanted *= 2
                continue
            except RecursionError:
                raise self._refusal("it is nested without end") from None
            # A number at the very end may go on in the next block.
            if end == len(self._buffer) and self._refill():
                continue
            self._position = end
            return value

    def _require_unfinished(self, error: json.JSONDecodeError) -> None:
        """Raise `CheckpointError` where more text cannot mend the value."""
        num_left = len(self._buffer) - error.pos
        is_inside_string = error.msg.startswith("Unterminated string")
        if (num_left > 4096 and not is_inside_string) or len(self._buffer) > _MAX_VALUE_CHARACTERS:
            near = self._buffer[error.pos : error.pos + 20]
            raise self._refusal(f"{error.msg} near {near!r}")

    def _refusal(self, reason: str) -> CheckpointError:
        return CheckpointError(
            f"{self._path} is not a trace: {reason}. Record it again with the profiler's trace export."
        )

    def _refill(self, num_blocks: int = 1) -> bool:
        """Read on; return False where nothing is left."""
        if self._is_over:
            return False
        blocks = list(itertools.islice(self._blocks, num_blocks))
        self._is_over = len(blocks) < num_blocks
        decoded = self._decode(b"".join(blocks), final=self._is_over)
        self._buffer = self._buffer[self._position :] + decoded
        self._position = 0
        return bool(decoded) or not self._is_over


def _members(text: _Text, header: Header) -> Iterator[Event]:
    """Walk the members of the outer object: the events are yielded, the rest is kept."""
    text.skip()
    has_events = False
    while (sign := text.peek()) != "}":
        if sign == "":
            raise _TornError
        name = str(text.value())
        if text.peek() == ":":
            text.skip()
        if name == "traceEvents" and text.peek() == "[":
            has_events = True
            yield from _elements(text)
        else:
            header.fields[name] = text.value()
    if not has_events:
        raise CheckpointError(
            f"The JSON has no traceEvents but {', '.join(header.fields) or 'nothing'}; it is not a Chrome "
            f"trace."
        )


def _elements(text: _Text) -> Iterator[Event]:
    text.skip()
    while (sign := text.peek()) != "]":
        if sign == "":
            raise _TornError
        value = text.value()
        if isinstance(value, dict):
            yield value
    text.skip()
