"""What stands in a decoded pickle for each class and function that gantune does not build: names and data."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class InertGlobal:
    """The qualified name of a class or function that the file mentions; nothing was imported."""

    name: str


@dataclass(eq=False)
class InertObject:
    """What the file says about an object of an unknown class: how it was to be made, and its data."""

    name: str
    arguments: tuple[object, ...] = ()
    state: object = None
    items: list[object] = field(default_factory=list)

    def __repr__(self) -> str:
        """Name the class alone: the data may be large, or contain itself."""
        return f"InertObject({self.name!r})"


class AttributeRecord(dict[str, object]):
    """The attributes of a plain record class (`argparse.Namespace`), by name."""


def describe_value(value: object) -> str:
    """Say in a few words what a decoded value is, for an error message."""
    if isinstance(value, InertGlobal | InertObject):
        return f"{value.name}, which gantune does not build"
    return f"a value of type {type(value).__name__}"
