"""What a search of a store looks into beside its archive: the sessions that hosts wrote."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from typing import Any, Protocol

from context_compression.store.hits import Hit, SearchResult
from context_compression.store.location import NAME


@dataclass(frozen=True)
class OriginalBeside:
    """A text or message that a host wrote.

    Attributes:
        ref: its full ref.
        session: the host's id of the session that it is in.
        what: where it is from, in a few words.
        original: the text, or the message as the host sent it.
    """

    ref: str
    session: str
    what: str
    original: Any


class HostSessions(Protocol):
    """The sessions of hosts that belong to the project of a store."""

    def search(
        self,
        query: str,
        *,
        pattern: str | None,
        session: str | None,
        limit: int,
        calling: Path | None = None,
    ) -> SearchResult:
        """The best hits; see `Store.search` for the arguments and the errors."""
        ...

    def of_all_projects(self) -> "HostSessions":
        """The same for all projects of the user."""
        ...

    def named(self, name: str) -> str | None:
        """The host's id of a session, by that or its beginning; `None` if no session has it.

        Raises:
            ConversationNotFound: several ids begin so.
        """
        ...

    def original(self, ref: str) -> OriginalBeside | None:
        """What a search found, by its ref or the beginning of it; `None` if no session has it.

        Raises:
            UnknownRef: several refs begin with these digits, or it is no longer what it was.
        """
        ...


def beside_folder(folder: Path | None) -> HostSessions | None:
    """The sessions of the project in which a store's folder is; `None` for a folder elsewhere."""
    if folder is None or folder.name != NAME:
        return None
    return _recall().of_project(folder.absolute().parent)


def beside_workspace(workspace: object) -> HostSessions:
    """The sessions that a workspace may search."""
    return _recall().Recall(workspace)


def _recall() -> Any:
    """The room that searches them: it is above this one, and only a search needs it."""
    return import_module("context_compression.recall.searching")


def together(results: Sequence[SearchResult], limit: int, skip: int) -> SearchResult:
    """The hits of several searches for the same words as one result: the best of each in turn.

    Each result has its first `skip + limit` hits. What is archived stands before the same text in a
    host's session.
    """
    hits: dict[str, Hit] = {}
    for row in zip_longest(*(result.hits for result in results)):
        for hit in filter(None, row):
            known = hits.get(hit.ref)
            if known is None or (known.origin and not hit.origin):
                hits[hit.ref] = hit
    first, ordered = results[0], [*hits.values()]
    totals = [result.total for result in results if result.total is not None]
    notes = dict.fromkeys(filter(None, (result.note for result in results)))
    end = skip + limit
    return replace(
        first,
        hits=tuple(ordered[skip:end]),
        total=sum(totals) if len(totals) == len(results) else None,
        searched=sum(result.searched for result in results),
        words=tuple(dict.fromkeys(word for result in results for word in result.words)),
        note="; ".join(notes) or None,
        exact=all(result.exact for result in results),
        more=len(ordered) > end or any(result.more for result in results),
    )
