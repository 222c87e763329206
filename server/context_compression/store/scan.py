"""Searching without an index: all that is archived is read, each time."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache, partial
from itertools import islice

from context_compression.errors import ContextCompressionError
from context_compression.store.documents import (
    BATCH_BYTES,
    Call,
    Candidate,
    Document,
    Neighbour,
    Reading,
    Said,
    documents,
    spoken,
)
from context_compression.store.lines import Mark
from context_compression.store.log import SessionLog
from context_compression.store.patterns import Pattern
from context_compression.store.query import Query, weight_of
from context_compression.store.spans import Written


class Scan:
    """All that is archived in some logs, in memory.

    Args:
        logs: the newest first.
        session: the only one to look in, if any.
    """

    def __init__(self, logs: Sequence[SessionLog], session: str | None) -> None:
        self._said: dict[str, list[Said]] = {}
        self._found: list[Candidate] = []
        self._archived: dict[tuple[str, str], str] = {}  # by session and message, its best ref
        for log in reversed(logs):
            if session in (None, log.id):
                with suppress(ContextCompressionError):  # it keeps no other from us
                    self._read(log)

    def count(self) -> int:
        """How much there is to be found."""
        return len(self._found)

    def telling(self, query: Query) -> Query:
        """The query without words that tell nothing, see `Query.telling`."""
        holding = self._holding(query)
        less = query.telling(lambda term: len(holding[term]), len(self._found))
        return less if less == query or self.with_words(less, 1)[1] else query

    def with_words(
        self, query: Query, most: int, pattern: Pattern | None = None
    ) -> tuple[Iterator[list[Candidate]], int | None]:
        """All that holds words of the query, those with most of them first; and how much."""
        holding = self._holding(query)
        weights = {t: weight_of(len(keys), len(self._found)) for t, keys in holding.items()}
        found: list[Candidate] = []
        for candidate in self._found:
            held = [term for term, keys in holding.items() if candidate.key in keys]
            if (held or not query.terms) and _within(query, candidate.document):
                found.append(replace(candidate, weight=sum(map(weights.__getitem__, held))))
        found.sort(key=lambda candidate: (candidate.weight, candidate.key), reverse=True)
        if pattern:
            return _blocks((c for c in found if pattern.is_in(c.document.text)), most), None
        return _blocks(iter(found), most), len(found)

    def with_pattern(self, pattern: Pattern, least: int, most: int) -> Iterator[list[Candidate]]:
        """All in which a pattern is found, the newest first."""
        newest_first = sorted(self._found, key=lambda c: (c.document.ours, -c.key))
        return _blocks((c for c in newest_first if pattern.is_in(c.document.text)), most)

    def beside(self, candidate: Candidate) -> tuple[Neighbour | None, Neighbour | None]:
        """What was said right before it, and right after it."""
        said = self._said[candidate.session]
        for number, one in enumerate(said):
            if one.ref == candidate.document.message:
                before = (s for s in reversed(said[:number]) if s.at == one.at - 1)
                after = (s for s in said[number + 1 :] if s.at == one.at + 1)
                return self._neighbour(candidate, before), self._neighbour(candidate, after)
        return None, None

    def call(self, candidate: Candidate) -> Call:
        """The call it answers."""
        return candidate.document.call

    def _holding(self, query: Query) -> dict[str, set[int]]:
        """What holds each of a query's terms, by key."""
        holding = {term: set[int]() for term in query.terms}
        for candidate in self._found if holding else ():
            text = candidate.document.searched
            for term, keys in holding.items():
                if term.casefold() in text:
                    keys.add(candidate.key)
        return holding

    def _neighbour(self, candidate: Candidate, said: Iterator[Said]) -> Neighbour | None:
        for one in said:
            ref = self._archived.get((candidate.session, one.ref))
            return Neighbour(ref, one.role, one.glimpse)
        return None

    def _read(self, log: SessionLog) -> None:
        said = self._said[log.id] = []
        by_ref: dict[str, Said] = {}
        refs: set[str] = set()
        reading, mark = Reading(), Mark()
        written = lru_cache(1)(partial(Written, log))
        while True:
            events, ahead = log.onward(mark, BATCH_BYTES)
            if ahead == mark:
                return
            mark = ahead
            for line in events:
                for event, _ in spoken(line, written):
                    if one := reading.said(event):
                        said.append(one)
                        by_ref.setdefault(one.ref, one)
                for document in documents(line, written, by_ref.get):
                    if document.ref in refs:
                        continue
                    refs.add(document.ref)
                    self._found.append(Candidate(len(self._found), log.id, document))
                    if document.is_text:
                        self._archived[log.id, document.message] = document.ref
                    else:
                        self._archived.setdefault((log.id, document.message), document.ref)


def _blocks(found: Iterator[Candidate], most: int) -> Iterator[list[Candidate]]:
    while block := list(islice(found, most)):
        yield block


def _within(query: Query, document: Document) -> bool:
    """Whether a document is within the limits of a query."""
    text = document.searched if query.paths else ""
    called = document.call.tool.casefold()
    return (
        (document.failed or not query.failed)
        and (not query.tools or any(tool.casefold() in called for tool in query.tools))
        and all(path.casefold() in text for path in query.paths)
    )
