"""What each pickle opcode of protocols 2 to 5 does to a `PickleMachine`."""

import struct
from collections.abc import Callable
from pickletools import opcodes as _documented
from typing import Final

from gantune.checkpoints.object_state import give_state
from gantune.checkpoints.pickle_machine import PickleMachine
from gantune.errors import CheckpointError

Handler = Callable[[PickleMachine], None]

STOP: Final = ord(".")
OPCODE_NAMES: Final = {ord(opcode.code): opcode.name for opcode in _documented}
_CODES: Final = {opcode.name: ord(opcode.code) for opcode in _documented}
_HIGHEST_PROTOCOL = 5
_VIEW_BYTES = 1024


def _check_protocol(machine: PickleMachine) -> None:
    version = machine.take(1)[0]
    if version > _HIGHEST_PROTOCOL:
        raise CheckpointError(
            f"The pickle has protocol {version}; protocols 2 to {_HIGHEST_PROTOCOL} are read."
        )


def _skip_frame_length(machine: PickleMachine) -> None:
    machine.take(8)


def _pop(machine: PickleMachine) -> None:
    if machine.stack:
        machine.stack.pop()
    else:
        machine.close_mark()


def _binfloat(machine: PickleMachine) -> None:
    machine.push(struct.unpack(">d", machine.take(8))[0])


def _tuple_of(count: int) -> Handler:
    def push(machine: PickleMachine) -> None:
        if len(machine.stack) < count:
            raise CheckpointError("The pickle takes more values than it has put down: it is damaged.")
        items = machine.stack[-count:]
        del machine.stack[-count:]
        machine.push(tuple(items))

    return push


def _constant(value: object) -> Handler:
    return lambda machine: machine.push(value)


def _number(layout: str) -> Handler:
    return lambda machine: machine.push(machine.take_number(layout))


def _long(length: str) -> Handler:
    def push(machine: PickleMachine) -> None:
        digits = machine.take(machine.take_number(length))
        machine.push(int.from_bytes(digits, "little", signed=True))

    return push


def _text(length: str) -> Handler:
    def push(machine: PickleMachine) -> None:
        machine.push(bytes(machine.take(machine.take_number(length))).decode("utf-8", "surrogatepass"))

    return push


def _python2_text(length: str) -> Handler:
    def push(machine: PickleMachine) -> None:
        machine.push(bytes(machine.take(machine.take_number(length))).decode("latin-1"))

    return push


def _bytes(length: str) -> Handler:
    def push(machine: PickleMachine) -> None:
        view = machine.take(machine.take_number(length))
        # Weights stay a view of the file until a builder has checked and copied them.
        machine.push(view if len(view) > _VIEW_BYTES else bytes(view))

    return push


def _recall(index: str) -> Handler:
    return lambda machine: machine.push(machine.memo[machine.take_number(index)])


def _remember(index: str) -> Handler:
    def keep(machine: PickleMachine) -> None:
        machine.memo[machine.take_number(index)] = machine.stack[-1]

    return keep


def _memoize(machine: PickleMachine) -> None:
    machine.memo[len(machine.memo)] = machine.stack[-1]


def _global(machine: PickleMachine) -> None:
    module = machine.take_line()
    machine.push_global(module, machine.take_line())


def _stack_global(machine: PickleMachine) -> None:
    name = machine.stack.pop()
    machine.push_global(machine.stack.pop(), name)


def _reduce(machine: PickleMachine) -> None:
    arguments = machine.stack.pop()
    machine.push(machine.construct(machine.stack.pop(), arguments))


def _newobj_ex(machine: PickleMachine) -> None:
    keywords, arguments = machine.stack.pop(), machine.stack.pop()
    machine.push(machine.construct_with_keywords(machine.stack.pop(), arguments, keywords))


def _build(machine: PickleMachine) -> None:
    state = machine.stack.pop()
    give_state(machine.stack[-1], state, machine.budget)


def _append(machine: PickleMachine) -> None:
    value = machine.stack.pop()
    machine.extend_top([value])


def _setitem(machine: PickleMachine) -> None:
    value = machine.stack.pop()
    machine.set_items_on_top([machine.stack.pop(), value])


def _additems(machine: PickleMachine) -> None:
    items = machine.checked_keys(machine.close_mark())
    target = machine.stack[-1]
    if not isinstance(target, set):
        raise CheckpointError(
            f"The pickle adds items to a {type(target).__name__}: it is damaged or hostile."
        )
    target.update(items)


_HANDLERS: Final[dict[str, Handler]] = {
    "PROTO": _check_protocol,
    "FRAME": _skip_frame_length,
    "MARK": PickleMachine.open_mark,
    "POP": _pop,
    "POP_MARK": lambda machine: machine.close_mark().clear(),
    "DUP": lambda machine: machine.push(machine.stack[-1]),
    "NONE": _constant(None),
    "NEWTRUE": _constant(True),
    "NEWFALSE": _constant(False),
    "BININT": _number("<i"),
    "BININT1": _number("<B"),
    "BININT2": _number("<H"),
    "LONG1": _long("<B"),
    "BINFLOAT": _binfloat,
    "SHORT_BINUNICODE": _text("<B"),
    "BINUNICODE": _text("<I"),
    "BINUNICODE8": _text("<Q"),
    "SHORT_BINSTRING": _python2_text("<B"),
    "BINSTRING": _python2_text("<I"),
    "SHORT_BINBYTES": _bytes("<B"),
    "BINBYTES": _bytes("<I"),
    "BINBYTES8": _bytes("<Q"),
    "BYTEARRAY8": _bytes("<Q"),
    "EMPTY_TUPLE": _constant(()),
    "TUPLE1": _tuple_of(1),
    "TUPLE2": _tuple_of(2),
    "TUPLE3": _tuple_of(3),
    "TUPLE": lambda machine: machine.push(tuple(machine.close_mark())),
    "EMPTY_LIST": lambda machine: machine.push([]),
    "EMPTY_DICT": lambda machine: machine.push({}),
    "EMPTY_SET": lambda machine: machine.push(set()),
    "FROZENSET": lambda machine: machine.push(frozenset(machine.checked_keys(machine.close_mark()))),
    "BINGET": _recall("<B"),
    "LONG_BINGET": _recall("<I"),
    "BINPUT": _remember("<B"),
    "LONG_BINPUT": _remember("<I"),
    "MEMOIZE": _memoize,
    "GLOBAL": _global,
    "STACK_GLOBAL": _stack_global,
    "REDUCE": _reduce,
    "NEWOBJ": _reduce,
    "NEWOBJ_EX": _newobj_ex,
    "BUILD": _build,
    "BINPERSID": lambda machine: machine.push(machine.fetch_persistent(machine.stack.pop())),
    "APPEND": _append,
    "APPENDS": lambda machine: machine.extend_top(machine.close_mark()),
    "SETITEM": _setitem,
    "SETITEMS": lambda machine: machine.set_items_on_top(machine.close_mark()),
    "ADDITEMS": _additems,
}

OPCODES: Final[dict[int, Handler]] = {_CODES[name]: handler for name, handler in _HANDLERS.items()}
