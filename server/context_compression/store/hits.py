"""The result of a search: hits, each with its best lines and the messages next to it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The message right before or after a hit.

    Attributes:
        ref: the ref under which it is archived, or `None`.
        role: the speaker: the message's role, but `tool` for results and `host` for its notes.
        glimpse: the beginning of its text, on one line.
    """

    ref: str | None
    role: str
    glimpse: str


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a hit is from that no store holds: a session of a host.

    Attributes:
        host: the name of the host.
        title: the session's title, or the user's first words.
        date: when it was said, as `2026-11-30`; when the session was last written, if that is not
            recorded.
        who: who speaks, as `Neighbour.role`; "" if that is not known.
        project: the folder that the agent worked in.
    """

    host: str
    title: str
    date: str
    who: str
    project: str


@dataclass(frozen=True)
class Hit:
    """An archived text or message that a search found.

    Attributes:
        what: a description in a few words.
        session: id of the session that archived it, or in which a host recorded it.
        held: how many words it contains of the wording of the query that it fits best.
        words: how many words that wording has.
        lines: the lines that best show why it was found, each with its number from 1.
        numbered: whether its ref stands for a text, so that a restore can name these lines.
        before: the message right before it in the conversation.
        after: the message right after it in the conversation.
        origin: of a hit in a session of a host; `None` for an archived one.
    """

    ref: str
    what: str
    session: str
    held: int
    words: int
    lines: tuple[tuple[int, str], ...]
    numbered: bool
    before: Neighbour | None
    after: Neighbour | None
    origin: Origin | None = None


@dataclass(frozen=True)
class SearchResult:
    """The hits of a search, the best first.

    Attributes:
        total: how many documents contain any of the words, duplicates counted once; `None` if they
            were not counted.
        searched: how many documents were searched.
        words: the words of the query that were searched for.
        note: why the search had no index, or that no text contains a phrase; `None` otherwise.
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
