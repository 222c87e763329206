"""The shapes of what a host's rows hold, as far as its reader takes text from them.

A reader passes over a value that is not of the type it expects. A newer host may keep parts of a
conversation in such a value. So each row is compared with the shapes that are known, before it is
read, and what has another shape is told by its name.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, runtime_checkable

from context_compression.conversation.messages import is_array, is_object
from context_compression.display.strings import one_line
from context_compression.transcripts.transcript import counted

LONGEST_NAME = 60
DEEPEST, LONGEST_LOOK = 5, 400
"""Levels of a value and characters of a text that are looked at for words."""
WORDS = re.compile(r"\S \S+ \S+ \S|[^\x00-\u2e7f]{4}")
"""Words of a text, by their spaces or by their script; a path, an id or a time has none."""
NUMBER = re.compile(r"\d{1,9}", re.ASCII)


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


BLOCKS = ("content", "output")
"""The fields in which hosts keep lists of blocks."""
ANY_BLOCK: Shape = [Maybe({})]


@dataclass(frozen=True)
class Seen:
    """The fields in which a host was seen to keep words, beside those that the shapes name.

    Attributes:
        fields: their names, between spaces.
        version: up to which version of the host; other fields are told of newer ones alone. Empty
            if its rows name none: then they are always told.
        version_of: gives the version that a row names; empty if it names none.
    """

    fields: str
    version: str = ""
    version_of: Callable[[Mapping[str, Any]], str] = lambda _: ""

    def is_before(self, version: str) -> bool:
        """Whether a version is newer than the one that was seen."""
        return _numbers(version) > _numbers(self.version)


@dataclass(frozen=True)
class Shapes:
    """The shapes of a host's rows.

    Attributes:
        title: the name of the host for people.
        rows: by the type of a row; "" for those without one. Rows of other types have any shape.
        seen: the other fields that are known.
    """

    title: str
    rows: Mapping[str, Shape]
    seen: Seen

    def strange(self, row: Mapping[str, Any]) -> Iterator[str]:
        """The names of what in a row has none of the shapes: `data.content of user.message`."""
        kind = row.get("type")
        shape = self.rows.get(kind if isinstance(kind, str) else "")
        if shape is not None:
            for place in strange_in(row, shape):
                yield f"{place} of {kind}" if isinstance(kind, str) else place

    def unseen(self, row: Mapping[str, Any]) -> Iterator[str]:
        """The names of fields with words in a row that stand beside known ones and are unknown."""
        kind = row.get("type")
        shape = self.rows.get(kind if isinstance(kind, str) else "")
        for place in {*_beside(row, shape, {*self.seen.fields.split()})}:
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
    is_newer: bool = False

    def look(self, row: Mapping[str, Any]) -> None:
        """Compare a row."""
        if not self.shapes:
            return
        self.places.update(self.shapes.strange(row))
        seen = self.shapes.seen
        if version := seen.version_of(row):
            self.is_newer = seen.is_before(version)
        if self.is_newer or not seen.version:
            self.places.update(self.shapes.unseen(row))

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


def _beside(value: Any, shape: Shape, known: AbstractSet[str], place: str = "") -> Iterator[str]:
    """The names of fields with words in a value that neither its shape names nor `known`."""
    if isinstance(shape, tuple):
        shape = next((one for one in shape if _is_kind(value, one)), None)
    if isinstance(shape, list) and is_array(value):
        for part in value:
            yield from _beside(part, shape[0], known, place)
    named = shape.shape if isinstance(shape, Maybe) else shape
    if not isinstance(named, Mapping) or not is_object(value):
        return
    for key, part in value.items():
        inner = f"{place}.{key}" if place else key
        if key in named:
            yield from _beside(part, named[key], known, inner)
        elif key in BLOCKS and is_array(part):
            yield from _beside(
                [block for block in part if is_object(block)], ANY_BLOCK, known, inner
            )
        elif key not in known and _has_words(part):
            yield one_line(inner, LONGEST_NAME)


def _has_words(value: Any, depth: int = DEEPEST) -> bool:
    """Whether there is a text of several words in a value."""
    if isinstance(value, str):
        return WORDS.search(value, 0, LONGEST_LOOK) is not None
    if not depth or not (is_object(value) or is_array(value)):
        return False
    parts = value.values() if is_object(value) else value
    return any(_has_words(part, depth - 1) for part in parts)


def _numbers(version: str) -> list[int]:
    """`"2.1.329"` -> `[2, 1, 329]`."""
    return [int(number) for number in NUMBER.findall(version[:LONGEST_NAME])]
