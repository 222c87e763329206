"""The documents that may be hits, and the interface to what finds them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from context_compression.store.hits import Neighbour
from context_compression.store.search.documents import IndexedDocument
from context_compression.store.search.query import Pattern, Query


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

    @property
    def among(self) -> int:
        """Among how many documents the words are counted."""
        ...

    def count(self) -> int:
        """How many documents there are to search."""
        ...

    def holding(self, term: str) -> int:
        """About how many documents contain a term as it is written."""
        ...

    def any_of(self, query: Query) -> bool:
        """Whether any document within the limits contains words of the query."""
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


def in_blocks(
    candidates: Iterable[CandidateDocument], most: int
) -> Iterator[list[CandidateDocument]]:
    """The candidates in blocks of at most so many."""
    left = iter(candidates)
    return iter(lambda: [*islice(left, most)], [])
