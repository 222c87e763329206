"""The shapes of what a host's rows hold, as far as its reader takes text from them.

A reader passes over a value that is not of the type it expects. A newer host may keep parts of a
conversation in such a value. So each row is compared with the shapes that are known, before it is
read, and what has another shape is told by its name.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, runtime_checkable

from context_compression.conversation.messages import is_array, is_object
from context_compression.display.strings import one_line
from context_compression.transcripts.transcript import counted

LONGEST_NAME = 60


@dataclass(frozen=True)
class Known:
    """A text that is one of some names, such as that of a role."""

    names: frozenset[str]


@dataclass(frozen=True)
class Each:
    """An object whose values, under any keys, have one shape."""

    shape: "Shape"


@dataclass(frozen=True)
class Maybe:
    """An object that may have none of the keys that are named."""

    shape: "Mapping[str, Shape]"


Simple: TypeAlias = "type[str] | Known | Each | Maybe | None"
Shape: TypeAlias = "Simple | Mapping[str, Shape] | list[Shape] | tuple[Shape, ...]"
"""`None`: any; `str`; one of some names; an object by its keys, at least one of which it has; a
list of one shape; or one of several shapes. A value that is missing, null or empty has any shape,
and so has what is under a key that is not named."""


@dataclass(frozen=True)
class Shapes:
    """The shapes of a host's rows.

    Attributes:
        title: the name of the host for people.
        rows: by the type of a row; "" for those without one. Rows of other types have any shape.
    """

    title: str
    rows: Mapping[str, Shape]

    def strange(self, row: Mapping[str, Any]) -> Iterator[str]:
        """The names of what in a row has none of the shapes: `data.content of user.message`."""
        kind = row.get("type")
        shape = self.rows.get(kind if isinstance(kind, str) else "")
        if shape is not None:
            for place in strange_in(row, shape):
                yield f"{place} of {kind}" if isinstance(kind, str) else place

    def warnings(self, places: Mapping[str, int]) -> list[str]:
        """The warning about places in rows; none if there are none."""
        what = f"{self.title} wrote parts in a form that is not known here, so text may be missing"
        return counted(what, places)


@runtime_checkable
class Shaped(Protocol):
    """A host whose rows have known shapes."""

    SHAPES: Shapes


@dataclass
class Strange:
    """What in the rows of one file has a shape that is not known."""

    shapes: Shapes | None = None
    places: Counter[str] = field(default_factory=Counter[str])

    def look(self, row: Mapping[str, Any]) -> None:
        """Compare a row."""
        if self.shapes:
            self.places.update(self.shapes.strange(row))

    @property
    def warnings(self) -> list[str]:
        """What is told of the rows so far."""
        return self.shapes.warnings(self.places) if self.shapes else []


def strange_rows(host: object) -> Strange:
    """For the rows of a host's file."""
    return Strange(host.SHAPES if isinstance(host, Shaped) else None)


def strange_in(value: Any, shape: Shape, place: str = "") -> Iterator[str]:
    """The names of the places in a value that have another shape."""
    if not value or shape is None:
        return
    if isinstance(shape, tuple):
        fitting = next((one for one in shape if _is_kind(value, one)), None)
        if fitting is None:
            yield place
            return
        shape = fitting
    if not _is_kind(value, shape) or (
        isinstance(shape, Mapping) and shape.keys().isdisjoint(value)
    ):
        yield place
    elif isinstance(shape, Known):
        if value not in shape.names:
            yield f"{place} {one_line(value, LONGEST_NAME)}".strip()
    elif isinstance(shape, Each):
        for part in value.values():
            yield from strange_in(part, shape.shape, f"{place}.*")
    elif isinstance(shape, list):
        for part in value:
            yield from strange_in(part, shape[0], place)
    elif isinstance(shape, Maybe | Mapping):
        for key, inner in (shape.shape if isinstance(shape, Maybe) else shape).items():
            if part := value.get(key):
                yield from strange_in(part, inner, f"{place}.{key}" if place else key)


def _is_kind(value: Any, shape: Shape) -> bool:
    """Whether a value is of the type that a shape begins with."""
    if shape is str or isinstance(shape, Known):
        return isinstance(value, str)
    if isinstance(shape, list):
        return is_array(value)
    return is_object(value)
