"""Runs a search over the archive: by words, by a pattern, with or without an index.

Words are looked up in an index (BM25). If there can be no index, the complete archive is read. Then
the best candidates are ranked.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path

from context_compression.errors import ContextCompressionError, StoreUnwritable
from context_compression.evidence.ledger.tasks import reported_errors
from context_compression.store.hits import Hit, Neighbour, SearchResult
from context_compression.store.search.documents import (
    BATCH_BYTES,
    IndexedDocument,
    documents,
    events_in,
)
from context_compression.store.search.excerpt import (
    BEST_LINES,
    ConversationReader,
    RecordedMessage,
    best_lines,
)
from context_compression.store.search.index import (
    CandidateDocument,
    CandidateSource,
    Stamps,
    in_blocks,
)
from context_compression.store.search.lookup import ranked
from context_compression.store.search.query import Pattern, Query, shortened, weight_of
from context_compression.store.session_files import SessionFiles


class Scan:
    """All documents of some sessions, in memory; see `CandidateSource` for the methods."""

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

    @property
    def among(self) -> int:
        """How many documents there are."""
        return len(self._candidates)

    def count(self) -> int:
        """How many documents there are."""
        return self.among

    def holding(self, term: str) -> int:
        """How many documents contain a term."""
        return len(self._holding([term])[term])

    def any_of(self, query: Query) -> bool:
        """Whether any document within the limits contains words of the query."""
        return bool(self.with_words(query, 1)[1])

    def with_words(
        self, query: Query, most: int, pattern: Pattern | None = None
    ) -> tuple[Iterator[list[CandidateDocument]], int | None]:
        """All documents that contain words of the query, by weight; and how many."""
        holding = self._holding(query.terms)
        weights = {t: weight_of(len(keys), len(self._candidates)) for t, keys in holding.items()}
        matches: list[CandidateDocument] = []
        for candidate in self._candidates:
            held = [term for term, keys in holding.items() if candidate.key in keys]
            if (held or not query.terms) and _within(query, candidate.document):
                matches.append(replace(candidate, weight=sum(map(weights.__getitem__, held))))
        matches.sort(key=lambda candidate: (candidate.weight, candidate.key), reverse=True)
        if pattern:
            return in_blocks((c for c in matches if pattern.is_in(c.document.text)), most), None
        return in_blocks(matches, most), len(matches)

    def with_pattern(
        self, pattern: Pattern, least: int, most: int
    ) -> Iterator[list[CandidateDocument]]:
        """All documents that match a pattern, the newest first, but our own texts last."""
        newest_first = sorted(self._candidates, key=lambda c: (c.document.by_us, -c.key))
        return in_blocks((c for c in newest_first if pattern.is_in(c.document.text)), most)

    def neighbours(self, candidate: CandidateDocument) -> tuple[Neighbour | None, Neighbour | None]:
        """The messages right before and right after a candidate."""
        messages = self._recorded[candidate.session]
        for number, one in enumerate(messages):
            if one.ref == candidate.document.message:
                before = (m for m in reversed(messages[:number]) if m.at == one.at - 1)
                after = (m for m in messages[number + 1 :] if m.at == one.at + 1)
                return self._neighbour(candidate, before), self._neighbour(candidate, after)
        return None, None

    def _holding(self, terms: Sequence[str]) -> dict[str, set[int]]:
        """The keys of the candidates that contain each of some terms."""
        holding = {term: set[int]() for term in terms}
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
        reader, before, end = ConversationReader(), -1, 0
        originals = lru_cache(1)(log.read_originals)
        while before < end:
            before = end
            events, end = log.events_after(before, BATCH_BYTES)
            for event in events:
                for each in events_in(event, originals):
                    if message := reader.read(each):
                        messages.append(message)
                        by_ref.setdefault(message.ref, message)
                for document in documents(event, originals, by_ref.get):
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


def _within(query: Query, document: IndexedDocument) -> bool:
    """Whether a document is within the limits of a query."""
    text = document.searched if query.paths else ""
    tools = document.call.tool.casefold()
    return (
        (document.failed or not query.failed)
        and (not query.tools or any(tool.casefold() in tools for tool in query.tools))
        and all(path.casefold() in text for path in query.paths)
    )


MOST_RANKED = 60
"""How many candidates are ranked together."""
MOST_COUNTED = 120
"""Up to this many candidates are all read, so that the total counts duplicates once."""


@dataclass(frozen=True)
class SearchScope:
    """The sessions to search.

    Attributes:
        folder: of the store.
        stamps: size and time of the log of each session, as `SessionFiles.stamp`, the newest first.
        log_of: returns the log of a session.
        session: search only the session with this id; `None` for all.
        may_index: whether an index may be opened and written. It is `False` for a folder that
            another user made, because SQLite would replay a journal next to the index.
    """

    folder: Path
    stamps: Stamps
    log_of: Callable[[str], SessionFiles]
    session: str | None
    may_index: bool


def search(
    scope: SearchScope,
    query: str = "",
    *,
    pattern: str | None = None,
    limit: int = 5,
    skip: int = 0,
) -> SearchResult:
    """The documents of files that fit best; see `Store.search` for the arguments and the errors."""
    finding = partial(_in_files, scope)
    return search_by(finding, query, pattern=pattern, limit=limit, skip=skip)


def search_by(
    finding: Callable[["Search"], SearchResult],
    query: str,
    *,
    pattern: str | None,
    limit: int,
    skip: int,
) -> SearchResult:
    """The documents that fit best.

    Args:
        finding: runs a search over a source of candidates, and returns its result.
        query: as in `Store.search`, with the other arguments and the errors.
        pattern: a regular expression.
        limit: the most hits.
        skip: how many hits are left out.
    """
    compiled = None if pattern is None else Pattern(pattern)
    search = Search(Query.read(query), compiled, limit, skip)
    result = finding(search)
    apart = None if compiled else search.query.apart
    if result.total != 0 or not apart:
        return result
    note = "no text holds all words in the quotation marks together: they were searched apart"
    result = finding(replace(search, query=apart))
    return replace(result, note="; ".join(filter(None, (note, result.note))))


def _in_files(scope: SearchScope, search: "Search") -> SearchResult:
    """The result from the index, or from a scan if there can be no index."""
    if not scope.stamps:
        return SearchResult((), 0, 0, search.query.terms)
    try:
        if not scope.may_index:
            raise StoreUnwritable("this user did not make the folder, and did not trust it")
        from context_compression.store.search import index as index_file  # imports sqlite3
        from context_compression.store.search.index import Index
        from context_compression.store.search.lookup import IndexLookup

        def look_up(index: Index) -> SearchResult:
            with index.transaction():
                return search.run(IndexLookup(index, scope.session))

        return index_file.using(scope.folder, scope.stamps, scope.log_of, look_up)
    except (StoreUnwritable, ImportError) as error:
        result = search.run(Scan([*map(scope.log_of, scope.stamps)], scope.session))
        return replace(result, note=f"searched without an index, which is slower: {error}")


def _without_common_words(query: Query, source: CandidateSource) -> Query:
    """The query without words that are too common in a source; see `Query`."""
    about = query.without_function_words
    query = about if about == query or source.any_of(about) else query
    less = query.without_common_words(source.holding, source.among)
    return less if less == query or source.any_of(less) else query


@dataclass(frozen=True)
class Search:
    """A search for a query, a pattern, or both, over any source of candidates."""

    query: Query
    pattern: Pattern | None
    limit: int
    skip: int

    @property
    def names(self) -> tuple[str, ...]:
        """The names that a hit should contain exactly as written."""
        literal = self.pattern.literal if self.pattern else None
        return (*self.query.exact_names, *((literal,) if literal else ()))

    def run(self, source: CandidateSource) -> SearchResult:
        """The result, from candidates of a source."""
        return replace(self, query=_without_common_words(self.query, source))._run(source)

    def _run(self, source: CandidateSource) -> SearchResult:
        blocks, total = self._blocks(source)
        end = self.skip + self.limit
        ordered: list[CandidateDocument] = []
        seen = 0
        for block in blocks:
            seen += len(block)
            ordered += ranked(block, ordered, self.names)
            if len(ordered) > end and (total is None or total > MOST_COUNTED):
                break
        shown = ordered[self.skip : end]
        hits = tuple(self._hit(source, candidate) for candidate in shown)
        return SearchResult(
            hits, total if total is None else total - seen + len(ordered), source.count(),
            self.query.terms, exact=total in (None, seen), more=len(ordered) > end,
        )  # fmt: skip

    def _blocks(
        self, source: CandidateSource
    ) -> tuple[Iterator[list[CandidateDocument]], int | None]:
        """The candidates in blocks, and the total number of candidates if it is known.

        Each block is ranked by itself, whichever page is shown, so no page repeats hits of another.
        """
        least = 2 * self.limit  # some may be duplicates
        most = max(least, MOST_RANKED)
        if self.pattern and self.query.empty:
            return source.with_pattern(self.pattern, least, most), None
        return source.with_words(self.query, most, self.pattern)

    def _held(self, candidate: CandidateDocument) -> int:
        """How many words of the query, in any form, are in its text or in the call it answers."""
        text = candidate.document.text.casefold()
        words = map(str.casefold, self.query.words)
        terms = [name.casefold() for name in self.query.names]
        terms += [word if word in text else shortened(word) or word for word in words]
        elsewhere = [term for term in terms if term not in text]
        call = str(candidate.document.call).casefold()
        return len(terms) - sum(term not in call for term in elsewhere)

    def _hit(self, source: CandidateSource, candidate: CandidateDocument) -> Hit:
        document = candidate.document
        terms: Sequence[str] = self.query.terms
        if self.query.failed and not terms:
            terms = reported_errors(document.text, failed=True)[-BEST_LINES:]
        lines = tuple(best_lines(document.text, terms, self.pattern))
        before, after = source.neighbours(candidate)
        return Hit(
            document.ref, document.what, candidate.session, self._held(candidate), lines,
            document.is_text, before, after,
        )  # fmt: skip
