"""A search without an index: each search reads the complete archive."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache, partial
from itertools import islice

from context_compression.errors import ContextCompressionError
from context_compression.store.hits import Neighbour
from context_compression.store.json_lines import Mark
from context_compression.store.search.documents import BATCH_BYTES, IndexedDocument, documents
from context_compression.store.search.messages import CallLabel, ConversationReader, RecordedMessage
from context_compression.store.search.patterns import Pattern
from context_compression.store.search.query import Query, weight_of
from context_compression.store.search.sources import CandidateDocument
from context_compression.store.search.spans import OriginalsFile, events_in
from context_compression.store.session_files import SessionFiles


class Scan:
    """All documents of some sessions, in memory; see `sources.CandidateSource` for the methods."""

    def __init__(self, logs: Sequence[SessionFiles], session: str | None) -> None:
        """Reads all sessions; sessions that cannot be read are omitted.

        Args:
            logs: the newest first.
            session: read only the session with this id; `None` for all.
        """
        self._recorded: dict[str, list[RecordedMessage]] = {}  # by session
        self._candidates: list[CandidateDocument] = []
        self._refs: dict[tuple[str, str], str] = {}  # by session and message, the best ref for it
        for log in reversed(logs):
            if session in (None, log.id):
                with suppress(ContextCompressionError):  # an unreadable log must not hide others
                    self._read(log)

    def count(self) -> int:
        """How many documents there are."""
        return len(self._candidates)

    def without_common_words(self, query: Query) -> Query:
        """The query without words that are too common here, see `Query.without_common_words`."""
        about = query.without_function_words
        query = about if about == query or self.with_words(about, 1)[1] else query
        holding = self._holding(query)
        less = query.without_common_words(lambda term: len(holding[term]), len(self._candidates))
        return less if less == query or self.with_words(less, 1)[1] else query

    def with_words(
        self, query: Query, most: int, pattern: Pattern | None = None
    ) -> tuple[Iterator[list[CandidateDocument]], int | None]:
        """All documents that contain words of the query, by weight; and how many."""
        holding = self._holding(query)
        weights = {t: weight_of(len(keys), len(self._candidates)) for t, keys in holding.items()}
        matches: list[CandidateDocument] = []
        for candidate in self._candidates:
            held = [term for term, keys in holding.items() if candidate.key in keys]
            if (held or not query.terms) and _within(query, candidate.document):
                matches.append(replace(candidate, weight=sum(map(weights.__getitem__, held))))
        matches.sort(key=lambda candidate: (candidate.weight, candidate.key), reverse=True)
        if pattern:
            return _blocks((c for c in matches if pattern.is_in(c.document.text)), most), None
        return _blocks(iter(matches), most), len(matches)

    def with_pattern(
        self, pattern: Pattern, least: int, most: int
    ) -> Iterator[list[CandidateDocument]]:
        """All documents that match a pattern, the newest first, but our own texts last."""
        newest_first = sorted(self._candidates, key=lambda c: (c.document.by_us, -c.key))
        return _blocks((c for c in newest_first if pattern.is_in(c.document.text)), most)

    def neighbours(self, candidate: CandidateDocument) -> tuple[Neighbour | None, Neighbour | None]:
        """The messages right before and right after a candidate."""
        messages = self._recorded[candidate.session]
        for number, one in enumerate(messages):
            if one.ref == candidate.document.message:
                before = (m for m in reversed(messages[:number]) if m.at == one.at - 1)
                after = (m for m in messages[number + 1 :] if m.at == one.at + 1)
                return self._neighbour(candidate, before), self._neighbour(candidate, after)
        return None, None

    def call(self, candidate: CandidateDocument) -> CallLabel:
        """The call that a text is the result of; for a message, the tools it calls."""
        return candidate.document.call

    def _holding(self, query: Query) -> dict[str, set[int]]:
        """The keys of the candidates that contain each of a query's terms."""
        holding = {term: set[int]() for term in query.terms}
        for candidate in self._candidates if holding else ():
            text = candidate.document.searched
            for term, keys in holding.items():
                if term.casefold() in text:
                    keys.add(candidate.key)
        return holding

    def _neighbour(
        self, candidate: CandidateDocument, messages: Iterator[RecordedMessage]
    ) -> Neighbour | None:
        for message in messages:
            ref = self._refs.get((candidate.session, message.ref))
            return Neighbour(ref, message.role, message.glimpse)
        return None

    def _read(self, log: SessionFiles) -> None:
        messages = self._recorded[log.id] = []
        by_ref: dict[str, RecordedMessage] = {}
        refs: set[str] = set()
        reader, mark = ConversationReader(), Mark()
        originals = lru_cache(1)(partial(OriginalsFile, log))
        while True:
            lines, next_mark = log.lines_after(mark, BATCH_BYTES)
            if next_mark == mark:
                return
            mark = next_mark
            for line in lines:
                for event, _ in events_in(line, originals):
                    if message := reader.read(event):
                        messages.append(message)
                        by_ref.setdefault(message.ref, message)
                for document in documents(line, originals, by_ref.get):
                    if document.ref in refs:
                        continue
                    refs.add(document.ref)
                    self._candidates.append(
                        CandidateDocument(len(self._candidates), log.id, document)
                    )
                    if document.is_text:
                        self._refs[log.id, document.message] = document.ref
                    else:
                        self._refs.setdefault((log.id, document.message), document.ref)


def _blocks(
    candidates: Iterator[CandidateDocument], most: int
) -> Iterator[list[CandidateDocument]]:
    while block := list(islice(candidates, most)):
        yield block


def _within(query: Query, document: IndexedDocument) -> bool:
    """Whether a document is within the limits of a query."""
    text = document.searched if query.paths else ""
    tools = document.call.tool.casefold()
    return (
        (document.failed or not query.failed)
        and (not query.tools or any(tool.casefold() in tools for tool in query.tools))
        and all(path.casefold() in text for path in query.paths)
    )
