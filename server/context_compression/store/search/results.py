"""What a search gives: hits, each with its best lines and the messages next to it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The message right before or after a hit.

    Attributes:
        ref: under which it is archived, if it is.
        role: who speaks: the message's role, but `tool` in results and `host` in its notes.
        glimpse: the beginning of its text, on one line.
    """

    ref: str | None
    role: str
    glimpse: str


@dataclass(frozen=True)
class Hit:
    """Something archived that a search found.

    Attributes:
        what: it is, in a few words.
        session: id of the session that archived it.
        held: how many words of the query it holds.
        lines: those that show best why it was found, each with its number from 1.
        numbered: whether its ref stands for a text, so that a restore can name these lines.
        before: the message right before it in the conversation; `after` likewise.
    """

    ref: str
    what: str
    session: str
    held: int
    lines: tuple[tuple[int, str], ...]
    numbered: bool
    before: Neighbour | None
    after: Neighbour | None


@dataclass(frozen=True)
class SearchResult:
    """The hits of a search, the best first.

    Attributes:
        total: how many documents hold any of the words, equal ones counted once; `None` where they
            were not counted.
        searched: how many documents were searched.
        words: those of the query that were searched for.
        note: why the search had no index, or that no text holds a phrase; `None` otherwise.
        exact: whether `total` is exact; if not, it is an upper bound.
        more: whether there are hits after these.
    """

    hits: tuple[Hit, ...]
    total: int | None
    searched: int
    words: tuple[str, ...]
    note: str | None = None
    exact: bool = True
    more: bool = False
