"""The pieces of all texts that compete for one view, in arrays: there may be tens of thousands."""

from array import array
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from context_compression.conversation.rendering import Span
from context_compression.planning.cuts import Cutter

FAILURE, REASON, OUTDATED, FAILED, DUE = 1, 2, 4, 8, 16
"""Signs of a piece: it speaks of failures; gives a decision; was replaced since; says why a call
failed, or how many tests did; says what is still to be done."""


class Source(NamedTuple):
    """A text that competes: where it stands and what a token of it costs.

    Attributes:
        message: which one it is from, by index.
        slot: of its block in the message.
        text: the full text.
        tokens: of the full text.
        opening: tokens it costs to show anything of this source.
        weight: factor for the worth of its pieces.
        key: which text of a call it is; empty for other blocks.
        spoken: where in it the user or the model says something, so that decisions may stand there.
        worth: what a piece of it is worth whatever evidence it holds.
        start: no piece of it ends there or before.
        end: no piece of it begins there or behind; `None`: all of it competes.
        failed: whether it is the result of a call that failed.
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


Place: TypeAlias = tuple[int, int, int]
"""The number of a source in its pool, and which characters of it, `start` to `stop`."""


class PieceTable:
    """Pieces, numbered in the order of their sources.

    Attributes:
        cutter: holds where each piece begins and ends, and its words.
        sources: the texts.
        source_of: of each piece the number of its source.
        signs: of each piece its signs, added up: `FAILURE`, `REASON`, …
        edges: on how many sides of each piece its text ends.
        gap_tokens: of each source what the mark of a gap in it costs.
        firsts: of each source its first piece; one more than sources.
        shifts: of each source what is added to the number of a piece here for the cutter's.
        per_char: of each source tokens per character.
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
        """How many pieces a source has."""
        return self.firsts[source + 1] - self.firsts[source]

    def place(self, piece: int) -> Place:
        """Where a piece stands."""
        source = self.source_of[piece]
        number = piece + self.shifts[source]
        return source, self.cutter.starts[number], self.cutter.stops[number]

    def tokens(self, piece: int) -> float:
        """Tokens of a piece, about."""
        source, start, stop = self.place(piece)
        return (stop - start) * self.per_char[source]

    def words(self, piece: int) -> "array[int]":
        """The evidence words of a piece."""
        number, cutter = piece + self.shifts[self.source_of[piece]], self.cutter
        return cutter.words[cutter.ends[number] : cutter.ends[number + 1]]
