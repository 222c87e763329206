"""The pieces of all texts that compete for one view, in arrays for tens of thousands of pieces."""

from array import array
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from context_compression.conversation.rendering import Span
from context_compression.planning.cuts import Cutter

FAILURE, REASON, OUTDATED, FAILED, DUE = 1, 2, 4, 8, 16
"""The signs of a piece. `FAILURE`: it mentions failures. `REASON`: it states a decision.
`OUTDATED`: it was replaced later. `FAILED`: it says why a call failed, or gives numbers of tests.
`DUE`: it holds an open task."""


class Source(NamedTuple):
    """A text that competes for the view.

    Attributes:
        message: the index of its message.
        slot: the index of its block in the message.
        text: the full text.
        tokens: the tokens of the full text.
        opening: the tokens it costs to show any of this source.
        weight: the factor for the worth of its pieces.
        key: which text of a call it is; empty for other blocks.
        spoken: the spans in which the user or the model speaks, and may state decisions.
        worth: the worth of each of its pieces in addition to evidence.
        start: only pieces that end after this character compete.
        end: only pieces that begin before this character compete; `None` for no limit.
        failed: whether it is the result of a call that failed.
        per_token: the worth of each token of a piece in addition to evidence.
    """

    message: int
    slot: int
    text: str
    tokens: int
    opening: int
    weight: float = 1.0
    key: str = ""
    spoken: Sequence[Span] = ()
    worth: float = 0.0
    start: int = 0
    end: int | None = None
    failed: bool = False
    per_token: float = 0.0


Place: TypeAlias = tuple[int, int, int]
"""`(source, start, stop)`: the number of a source in its pool, and a span of its characters."""


class PieceTable:
    """Pieces, numbered in the order of their sources.

    Attributes:
        cutter: holds the start, the end and the words of each piece.
        sources: the texts.
        source_of: for each piece the number of its source.
        signs: for each piece the sum of its signs: `FAILURE`, `REASON`, …
        edges: for each piece on how many sides its text ends.
        gap_tokens: for each source the tokens of a gap's mark.
        firsts: for each source its first piece, and then the number of all pieces.
        shifts: for each source the difference from a piece's number here to its number in `cutter`.
        per_char: for each source its tokens per character.
    """

    def __init__(self, cutter: Cutter) -> None:
        self.cutter = cutter
        self.sources: list[Source] = []
        self.source_of = array("I")
        self.signs = bytearray()
        self.edges = bytearray()
        self.gap_tokens = bytearray()
        self.firsts = array("I", [0])
        self.shifts = array("q")
        self.per_char = array("d")

    def __len__(self) -> int:
        return len(self.source_of)

    def count(self, source: int) -> int:
        """The number of pieces of a source."""
        return self.firsts[source + 1] - self.firsts[source]

    def place(self, piece: int) -> Place:
        """The place of a piece."""
        source = self.source_of[piece]
        number = piece + self.shifts[source]
        return source, self.cutter.starts[number], self.cutter.stops[number]

    def tokens(self, piece: int) -> float:
        """About how many tokens a piece has."""
        source, start, stop = self.place(piece)
        return (stop - start) * self.per_char[source]

    def words(self, piece: int) -> "array[int]":
        """The evidence words of a piece, by number."""
        number, cutter = piece + self.shifts[self.source_of[piece]], self.cutter
        return cutter.words[cutter.ends[number] : cutter.ends[number + 1]]
