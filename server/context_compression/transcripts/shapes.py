"""The shapes of what a host's rows hold, as far as its reader takes text from them.

A reader passes over a value that is not of the type it expects. A newer host may keep parts of a
conversation in such a value. So each row is compared with the shapes that are known, before it is
read, and what has another shape is told by its name.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
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

    @cached_property
    def _looks(self) -> Mapping[str, "Look"]:
        return {kind: looking_for(shape) for kind, shape in self.rows.items()}

    def strange(self, row: Mapping[str, Any]) -> list[str]:
        """The names of what in a row has none of the shapes: `data.content of user.message`."""
        kind, found = row.get("type"), list[str]()
        if look := self._looks.get(kind if isinstance(kind, str) else ""):
            look(row, found)
        return [f"{place} of {kind}" for place in found] if isinstance(kind, str) else found

    @cached_property
    def _known(self) -> AbstractSet[str]:
        return frozenset(self.seen.fields.split())

    def unseen(self, row: Mapping[str, Any]) -> Iterator[str]:
        """The names of fields with words in a row that stand beside known ones and are unknown."""
        kind = row.get("type")
        shape = self.rows.get(kind if isinstance(kind, str) else "")
        for place in {*_beside(row, shape, self._known)}:
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
    version: str = ""
    is_newer: bool = False

    def look(self, row: Mapping[str, Any]) -> None:
        """Compare a row."""
        if not self.shapes:
            return
        if found := self.shapes.strange(row):
            self.places.update(found)
        seen = self.shapes.seen
        version = seen.version_of(row)
        if version and version != self.version:
            self.version, self.is_newer = version, seen.is_before(version)
        if self.is_newer or not seen.version:
            self.places.update(self.shapes.unseen(row))

    @property
    def warnings(self) -> list[str]:
        """What is told of the rows so far."""
        return self.shapes.warnings(self.places) if self.shapes else []


def strange_rows(host: object) -> Strange:
    """For the rows of a host's file."""
    return Strange(host.SHAPES if isinstance(host, Shaped) else None)


Look: TypeAlias = Callable[[Any, list[str]], None]
"""Adds the names of the places in a value that have another shape to a list."""


def looking_for(shape: Shape, place: str = "") -> Look:
    """What looks for places of another shape in values, at a place that has a name.

    A shape is taken apart once, because a file has many rows and its rows have few shapes.
    """
    if shape is None:
        return lambda value, found: None
    if isinstance(shape, tuple):
        return _one_of([(_kind_of(one), looking_for(one, place)) for one in shape], place)
    if isinstance(shape, list):
        return _each(is_array, iter, looking_for(shape[0], place), place)
    if isinstance(shape, Each):
        return _each(is_object, _values, looking_for(shape.shape, f"{place}.*"), place)
    if isinstance(shape, Maybe | Mapping):
        return _by_key(shape, place)
    names = shape.names if isinstance(shape, Known) else None

    def look(value: Any, found: list[str]) -> None:
        if value and not isinstance(value, str):
            found.append(place)
        elif value and names is not None and value not in names:
            found.append(f"{place} {one_line(value, LONGEST_NAME)}".strip())

    return look


def _by_key(shape: "Maybe | Mapping[str, Shape]", place: str) -> Look:
    """For an object by its keys."""
    named = shape.shape if isinstance(shape, Maybe) else shape
    under = f"{place}." if place else ""
    parts = [(key, looking_for(one, under + key)) for key, one in named.items() if one is not None]
    required = frozenset[str]() if isinstance(shape, Maybe) else frozenset(named)

    def look(value: Any, found: list[str]) -> None:
        if not value:
            return
        if not is_object(value) or (required and required.isdisjoint(value)):
            found.append(place)
            return
        for key, inside in parts:
            if part := value.get(key):
                inside(part, found)

    return look


def _each(
    is_kind: Callable[[Any], bool], parts: Callable[[Any], Iterable[Any]], inside: Look, place: str
) -> Look:
    """For all parts of a list, or all values of an object."""

    def look(value: Any, found: list[str]) -> None:
        if value and not is_kind(value):
            found.append(place)
        elif value:
            for part in parts(value):
                inside(part, found)

    return look


def _one_of(shapes: Sequence[tuple[Callable[[Any], bool], Look]], place: str) -> Look:
    """For one of several shapes: the first whose type a value has."""

    def look(value: Any, found: list[str]) -> None:
        for is_kind, inside in shapes if value else ():
            if is_kind(value):
                inside(value, found)
                return
        if value:
            found.append(place)

    return look


def _kind_of(shape: Shape) -> Callable[[Any], bool]:
    """Whether a value is of the type that a shape begins with."""
    if shape is str or isinstance(shape, Known):
        return _is_text
    return is_array if isinstance(shape, list) else is_object


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _values(value: Mapping[str, Any]) -> Iterable[Any]:
    return value.values()


def _beside(value: Any, shape: Shape, known: AbstractSet[str], place: str = "") -> Iterator[str]:
    """The names of fields with words in a value that neither its shape names nor `known`."""
    if isinstance(shape, tuple):
        shape = next((one for one in shape if _kind_of(one)(value)), None)
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
