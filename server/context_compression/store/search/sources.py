"""The interface to the sources of candidates: the index (`lookup`), or all files (`scan`)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from context_compression.store.hits import Neighbour
from context_compression.store.search.documents import IndexedDocument
from context_compression.store.search.messages import CallLabel
from context_compression.store.search.patterns import Pattern
from context_compression.store.search.query import Query

Stamps: TypeAlias = Mapping[str, tuple[int, int]]
"""The size in bytes of each session's log, and its modification time in ns; the newest first."""


@dataclass(frozen=True, slots=True)
class CandidateDocument:
    """A document that may be a hit.

    Attributes:
        key: greater for documents that were archived later.
        session: id of the session that archived it.
        weight: total weight of the query's words that it contains; rarer words weigh more.
        score: its BM25 score, by the number of words and the length; greater is better.
    """

    key: int
    session: str
    document: IndexedDocument
    weight: float = 0.0
    score: float = 0.0


class CandidateSource(Protocol):
    """A source of the candidates of a search."""

    def count(self) -> int:
        """How many documents there are to search."""
        ...

    def without_common_words(self, query: Query) -> Query:
        """The query without words that are too common here, see `Query.without_common_words`."""
        ...

    def with_words(
        self, query: Query, most: int, pattern: Pattern | None = None
    ) -> tuple[Iterator[list[CandidateDocument]], int | None]:
        """All documents that contain words of the query, the best first, in blocks; and how many.

        A block has at most `most` documents. The number is `None` if a pattern must match, too,
        because then they are not counted. The same arguments give the same blocks.
        """
        ...

    def with_pattern(
        self, pattern: Pattern, least: int, most: int
    ) -> Iterator[list[CandidateDocument]]:
        """All documents that match a pattern, the newest first, in blocks of at most `most`.

        The first block may have fewer, but at least `least` if that many documents match.
        """
        ...

    def neighbours(self, candidate: CandidateDocument) -> tuple[Neighbour | None, Neighbour | None]:
        """The messages right before and right after a candidate."""
        ...

    def call(self, candidate: CandidateDocument) -> CallLabel:
        """The call that a text is the result of; for a message, the tools it calls."""
        ...
