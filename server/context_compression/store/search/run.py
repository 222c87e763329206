"""Runs a search over the archive: by words, by a pattern, with or without an index.

Words are looked up in an index (BM25). If there can be no index, the complete archive is read. Then
the best candidates are ranked.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import zip_longest
from pathlib import Path

from context_compression.errors import ContextCompressionError, StoreUnwritable
from context_compression.evidence.ledger.tasks import reported_errors
from context_compression.store.hits import Hit, Neighbour, SearchResult
from context_compression.store.search.candidates import (
    CandidateDocument,
    CandidateSource,
    in_blocks,
)
from context_compression.store.search.documents import (
    BATCH_BYTES,
    IndexedDocument,
    documents,
    events_in,
)
from context_compression.store.search.excerpt import (
    BEST_LINES,
    ConversationReader,
    Fits,
    RecordedMessage,
    best_lines,
)
from context_compression.store.search.index import Stamps, fitting
from context_compression.store.search.letters import folded
from context_compression.store.search.query import Pattern, Query, shortened, weight_of
from context_compression.store.search.ranking import Distinct, ranked
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
        self._scores: Fits | None = None
        for log in reversed(logs):
            if session in (None, log.id):
                with suppress(ContextCompressionError):  # an unreadable log must not hide others
                    self._read(log)

    def run(self, search: "Search") -> SearchResult:
        """The result of a search, in the order of an index, which is made in memory.

        Without SQLite or its FTS5, what holds the rarest words goes first.
        """
        with ExitStack() as stack:
            with suppress(ImportError):
                from context_compression.store.search import index as index_file

                with suppress(*index_file.DAMAGED):
                    rows = stack.enter_context(index_file.in_memory(self._candidates))
                    self._scores = Fits(rows, "1", self.among)
            return search.run(self)

    @property
    def among(self) -> int:
        """How many documents there are."""
        return len(self._candidates)

    def count(self) -> int:
        """How many documents there are."""
        return self.among

    def holding(self, term: str) -> int:
        """How many documents contain a term."""
        return self._scores.number(term) if self._scores else len(self._holding([term])[term])

    def any_of(self, query: Query) -> bool:
        """Whether any document within the limits contains words of the query."""
        return self._scores.any_of(query) if self._scores else bool(self._by_rarity(query))

    def with_words(
        self, query: Query, most: int, pattern: Pattern | None = None
    ) -> tuple[Iterator[list[CandidateDocument]], int | None]:
        """All documents that contain words of the query, the best first; and how many."""
        if self._scores:
            matches = fitting(self._candidates, query, self._scores)
        else:
            matches = self._by_rarity(query)
        if pattern:
            return in_blocks((c for c in matches if pattern.is_in(c.document.text)), most), None
        return in_blocks(matches, most), len(matches)

    def _by_rarity(self, query: Query) -> list[CandidateDocument]:
        """All documents that contain words of the query, those with the rarest first."""
        holding = self._holding(query.terms)
        weights = {t: weight_of(len(keys), len(self._candidates)) for t, keys in holding.items()}
        matches: list[CandidateDocument] = []
        for candidate in self._candidates:
            held = [term for term, keys in holding.items() if candidate.key in keys]
            if (held or not query.terms) and _within(query, candidate.document):
                weight = sum(map(weights.__getitem__, held))
                matches.append(replace(candidate, weight=weight, score=weight))
        return sorted(matches, key=lambda each: (each.weight, each.key), reverse=True)

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
    tools = folded(document.call.tool).casefold()
    return (
        (document.failed or not query.failed)
        and (not query.tools or any(tool.casefold() in tools for tool in query.tools))
        and all(path.casefold() in text for path in query.paths)
    )


MOST_RANKED = 60
"""How many candidates are ranked together."""
MERGED = 40
"""How many of the documents of each wording count in which order all are shown."""
LEAST_LITERAL = 10
"""If fewer documents hold a pattern's plain text as complete words, it is looked for everywhere."""
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
    search = Search(Query.wordings(query), compiled, limit, skip)
    result = finding(search)
    apart = tuple(each.apart or each for each in search.wordings)
    if result.total != 0 or compiled or apart == search.wordings:
        return result
    note = "no text holds all words in the quotation marks together: they were searched apart"
    result = finding(replace(search, wordings=apart))
    return replace(result, note="; ".join(filter(None, (note, result.note))))


def _in_files(scope: SearchScope, search: "Search") -> SearchResult:
    """The result from the index, or from a scan if there can be no index."""
    if not scope.stamps:
        return SearchResult((), 0, 0, search.terms)
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
        result = Scan([*map(scope.log_of, scope.stamps)], scope.session).run(search)
        return replace(result, note=f"searched without an index, which is slower: {error}")


def _without_common_words(query: Query, source: CandidateSource) -> Query:
    """The query without words that are too common in a source; see `Query`."""
    about = query.without_function_words
    query = about if about == query or source.any_of(about) else query
    less = query.without_common_words(source.holding, source.among)
    return less if less == query or source.any_of(less) else query


@dataclass(frozen=True)
class Ranked:
    """The best documents for one wording, as many as are needed.

    Attributes:
        query: the wording without words that are too common.
        total: how many documents fit; `None` if they were not counted.
        complete: whether all of them are among `documents`, duplicates counted once.
    """

    query: Query
    documents: Sequence[CandidateDocument]
    total: int | None
    complete: bool


@dataclass(frozen=True)
class Search:
    """A search for a query, a pattern, or both, over any source of candidates.

    Attributes:
        wordings: of the query; a hit fits any of them.
    """

    wordings: tuple[Query, ...]
    pattern: Pattern | None
    limit: int
    skip: int

    @property
    def terms(self) -> tuple[str, ...]:
        """Names and words of all wordings."""
        return tuple(dict.fromkeys(term for each in self.wordings for term in each.terms))

    def run(self, source: CandidateSource) -> SearchResult:
        """The result, from candidates of a source."""
        found = [self._ranked(source, wording) for wording in self.wordings]
        ordered = merged([each.documents for each in found])
        end = self.skip + self.limit
        searched = replace(self, wordings=tuple(each.query for each in found))
        hits = tuple(searched._hit(source, each) for each in ordered[self.skip : end])
        totals = [each.total for each in found if each.total is not None]
        among = source.count()
        total = min(sum(totals), among) if len(totals) == len(found) else None
        complete = total is not None and all(each.complete for each in found)
        if complete:
            total = len(ordered)
        return SearchResult(
            hits, total, among, searched.terms,
            exact=total is None or complete, more=len(ordered) > end,
        )  # fmt: skip

    def _ranked(self, source: CandidateSource, wording: Query) -> Ranked:
        """The best documents for a wording.

        Each block is ranked by itself, whichever page is shown, so all pages show one order.
        """
        query = _without_common_words(wording, source)
        literal = self.pattern.literal if self.pattern else None
        names = (*query.exact_names, *((folded(literal),) if literal else ()))
        if self.pattern and query.empty:
            blocks, total = source.with_pattern(self.pattern, LEAST_LITERAL, MOST_RANKED), None
        else:
            blocks, total = source.with_words(query, MOST_RANKED, self.pattern)
        end = self.skip + self.limit
        if len(self.wordings) > 1:
            end = max(end, MERGED)
        question = wording if wording.function_words else None
        ordered: list[CandidateDocument] = []
        distinct, seen = Distinct(), 0
        for block in blocks:
            seen += len(block)
            ordered += ranked(block, distinct, names, question)
            if len(ordered) > end and (total is None or total > MOST_COUNTED):
                break
        complete = total == seen
        total = None if total is None else total - seen + len(ordered)
        return Ranked(query, ordered, total, complete)

    def _held(self, candidate: CandidateDocument) -> tuple[int, int]:
        """How many words of a wording, in any form, are in its text or in the call it answers.

        Also how many words the wording has; of several wordings, the one with the largest share.
        """
        document = candidate.document
        text = folded(document.text).casefold()
        call = folded(str(document.call)).casefold()

        def is_held(term: str, *, exactly: bool) -> bool:
            low = term.casefold()
            form = low if exactly or low in text else shortened(low) or low
            return form in text or form in call

        counts = (
            (sum(is_held(t, exactly=t in each.names) for t in each.terms), len(each.terms))
            for each in self.wordings
        )
        return max(counts, key=lambda count: (count[0] / (count[1] or 1), count[0]))

    def _hit(self, source: CandidateSource, candidate: CandidateDocument) -> Hit:
        document = candidate.document
        terms: Sequence[str] = self.terms
        if not terms and any(each.failed for each in self.wordings):
            terms = reported_errors(document.text, failed=True)[-BEST_LINES:]
        lines = tuple(best_lines(document.text, terms, self.pattern))
        before, after = source.neighbours(candidate)
        return Hit(
            document.ref, document.what, candidate.session, *self._held(candidate), lines,
            document.is_text, before, after,
        )  # fmt: skip


def merged(lists: Sequence[Sequence[CandidateDocument]]) -> Sequence[CandidateDocument]:
    """The documents of several wordings, the best first, without duplicates.

    Each place counts 1 / (1 + place), so what is first for one wording is among the first, and so
    is what is good for several. Behind the first `MERGED` only the best place of a document counts,
    so that a longer list only adds to the end.
    """
    if len(lists) == 1:
        return lists[0]
    documents: dict[str, CandidateDocument] = {}
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, row in enumerate(zip_longest(*lists), 1):
        for candidate in filter(None, row):
            documents.setdefault(candidate.document.ref, candidate)
            places[candidate.document.ref].append(place)

    def order(ref: str) -> tuple[float, int]:
        return -sum(1 / (1 + place) for place in places[ref] if place <= MERGED), places[ref][0]

    return Distinct().of(documents[ref] for ref in sorted(documents, key=order))
