"""Runs a search over the archive: by words, by a pattern, or by both.

Words are looked up in an index (BM25). If there can be no index, the complete archive is read. Then
the best candidates are ranked.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from context_compression.errors import StoreUnwritable
from context_compression.evidence.ledger.outcomes import reported_errors
from context_compression.store.hits import Hit, SearchResult
from context_compression.store.search.excerpt import BEST_LINES, best_lines
from context_compression.store.search.patterns import Pattern
from context_compression.store.search.query import Query, shortened
from context_compression.store.search.ranking import ranked
from context_compression.store.search.scan import Scan
from context_compression.store.search.sources import CandidateDocument, CandidateSource, Stamps
from context_compression.store.session_files import SessionFiles

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
        from context_compression.store.search import index_file  # imports sqlite3
        from context_compression.store.search.index import Index
        from context_compression.store.search.lookup import IndexLookup

        def look_up(index: Index) -> SearchResult:
            with index.transaction():
                return search.run(IndexLookup(index, scope.session))

        return index_file.using(scope.folder, scope.stamps, scope.log_of, look_up)
    except (StoreUnwritable, ImportError) as error:
        result = search.run(Scan([*map(scope.log_of, scope.stamps)], scope.session))
        return replace(result, note=f"searched without an index, which is slower: {error}")


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
        return replace(self, query=source.without_common_words(self.query))._run(source)

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

    def _held(self, source: CandidateSource, candidate: CandidateDocument) -> int:
        """How many words of the query, in any form, are in its text or in the call it answers."""
        text = candidate.document.text.casefold()
        words = map(str.casefold, self.query.words)
        terms = [name.casefold() for name in self.query.names]
        terms += [word if word in text else shortened(word) or word for word in words]
        elsewhere = [term for term in terms if term not in text]
        call = str(source.call(candidate)).casefold() if elsewhere else ""
        return len(terms) - sum(term not in call for term in elsewhere)

    def _hit(self, source: CandidateSource, candidate: CandidateDocument) -> Hit:
        document = candidate.document
        terms: Sequence[str] = self.query.terms
        if self.query.failed and not terms:
            terms = reported_errors(document.text, failed=True)[-BEST_LINES:]
        lines = tuple(best_lines(document.text, terms, self.pattern))
        before, after = source.neighbours(candidate)
        return Hit(
            document.ref, document.what, candidate.session, self._held(source, candidate), lines,
            document.is_text, before, after,
        )  # fmt: skip
