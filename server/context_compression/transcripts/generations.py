"""The generations of a host's format, and the warning about one that its reader has not seen.

A host names the generation of its files itself, by a number of the format or by its own version. A
newer one may keep parts of a conversation in a way that a reader takes for nothing.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from context_compression.conversation.messages import as_object
from context_compression.display.strings import one_line

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Generations:
    """The generations that a reader knows.

    Attributes:
        title: the name of the host for people.
        what: what names a generation: `format`, `history_mode`, `version`.
        known: the generations it was seen with.
        of: the generation that a row names; empty if it names none.
    """

    title: str
    what: str
    known: frozenset[str]
    of: Callable[[Row], str]

    def warnings(self, rows: Iterable[Row]) -> list[str]:
        """The warning, if rows name a generation that is not known."""
        named = (generation for row in rows if (generation := self.of(row)))
        return [self.unknown(name) for name in named if name not in self.known][:1]

    def unknown(self, generation: str) -> str:
        """The warning about a generation that is not known."""
        return (
            f"{self.title} wrote this with {self.what} {one_line(generation)}, which is not known "
            f"here (seen: {', '.join(sorted(self.known))}); parts of the conversation may be "
            "missing."
        )


@runtime_checkable
class Generational(Protocol):
    """A host whose reader knows generations."""

    GENERATIONS: Generations


def unknown_generation(host: object, rows: Iterable[Row]) -> list[str]:
    """The warning, if the first rows of a file are of a generation its reader has not seen."""
    return host.GENERATIONS.warnings(rows) if isinstance(host, Generational) else []


def named(value: Any) -> str:
    """A generation as a text: `3` -> `"3"`; empty if there is none."""
    return "" if value is None or isinstance(value, bool) else str(value)


def major(version: Any) -> str:
    """The first number of a program's version: `"2.1.329"` -> `"2"`; empty if there is none."""
    return version.partition(".")[0] if isinstance(version, str) else ""


def within(row: Row, kind: str, part: str) -> Row:
    """A part of a row of one type; empty if it is of another type."""
    return as_object(row.get(part)) if row.get("type") == kind else as_object(None)
