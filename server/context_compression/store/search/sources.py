"""What a search asks for candidates: the index (`lookup`), or all files one by one (`scan`)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from context_compression.store.search.documents import Document
from context_compression.store.search.messages import Call
from context_compression.store.search.patterns import Pattern
from context_compression.store.search.query import Query
from context_compression.store.search.results import Neighbour


@dataclass(frozen=True, slots=True)
class Candidate:
    """A document that may be a hit.

    Attributes:
        key: greater for what was archived later.
        session: id of the session that archived it.
        weight: of the query's words that it holds; the rarer a word, the more it weighs.
        score: how well they fit by number and length (BM25); greater is better.
    """

    key: int
    session: str
    document: Document
    weight: float = 0.0
    score: float = 0.0


class Source(Protocol):
    """Gives the candidates of a search."""

    def count(self) -> int:
        """How many documents there are to search."""
        ...

    def without_common_words(self, query: Query) -> Query:
        """The query without words that are too common here, see `Query.without_common_words`."""
        ...

    def with_words(
        self, query: Query, most: int, pattern: Pattern | None = None
    ) -> tuple[Iterator[list[Candidate]], int | None]:
        """All that holds words of the query, the best first, in blocks of `most`; and how many.

        The number is `None` where a pattern must match, too: then they are not counted. The same
        arguments give the same blocks.
        """
        ...

    def with_pattern(self, pattern: Pattern, least: int, most: int) -> Iterator[list[Candidate]]:
        """All in which a pattern matches, the newest first, in blocks of `most`.

        The first block may have fewer, but has `least` if there are so many.
        """
        ...

    def neighbours(self, candidate: Candidate) -> tuple[Neighbour | None, Neighbour | None]:
        """The messages right before and right after a candidate."""
        ...

    def call(self, candidate: Candidate) -> Call:
        """The call that a text is the result of; for a message, the tools it calls."""
        ...
