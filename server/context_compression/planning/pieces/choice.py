"""`Choice`, which takes the best pieces that fit, one after another."""

from array import array
from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush, merge
from itertools import islice

from context_compression.planning import measured
from context_compression.planning.pieces.ranking import piece_of, ranking
from context_compression.planning.pieces.table import PieceTable
from context_compression.planning.pieces.weights import Weights

LAST = (1 << 63) - 1
"""A number after all ranks."""


class Choice:
    """The pieces that were chosen so far, and the pieces that still compete."""

    def __init__(self, table: PieceTable, shown: Iterable[int], weights: Weights) -> None:
        """A choice without chosen pieces.

        Args:
            table: the pieces.
            shown: the evidence words that are already in view, by number.
            weights: the worth of each word; the worth of words in view becomes 0.
        """
        self._table = table
        self._worth_now = weights
        self._cover(shown)
        self._opening = array("I", [source.opening for source in table.sources])
        self._taken = bytearray(len(table))
        self._closed = table.edges[:]  # for each piece, on how many sides nothing is missing
        self._rank, ranks = ranking(table, self._opening, self._closed, weights.__getitem__)
        # the first ranks of all pieces in order, and as a heap those of pieces ranked again
        self._ranked = ascending(ranks)
        self._ranked.append(LAST)
        self._put_back = array("q", [LAST])

    def _cover(self, words: Iterable[int]) -> None:
        """Set the worth of words to 0, because they are in view now."""
        weights = self._worth_now
        known = weights if isinstance(weights, dict) else range(len(weights))
        for number in words:
            if number in known:  # else it is in no piece
                weights[number] = 0.0

    def take(self, room: float) -> "array[int]":
        """Take the best pieces that fit into `room` tokens, and return them, the best first."""
        # As evidence comes into view, ranks only get worse. A piece that is still the best when it
        # is ranked again is therefore the best of all. Ranks get better only in the text of a
        # chosen piece. Its neighbours are ranked again at once, other pieces of its text when their
        # turn comes, so that more texts are opened.
        ranked, put_back, rank_now = self._ranked, [*self._put_back], self._rank
        chosen, too_large = array("I"), array("q")
        at, smallest = 0, measured.SMALLEST_PIECE_TOKENS
        while room >= smallest:
            rank = ranked[at]
            if put_back[0] < rank:
                rank = heappop(put_back)
            elif rank == LAST:
                break
            else:
                at += 1
            piece = piece_of(rank)
            if self._taken[piece]:
                continue
            now = rank_now(piece)
            if now > ranked[at] or now > put_back[0]:
                heappush(put_back, now)
                continue
            cost = self._cost(piece)
            if cost > room:
                too_large.append(now)
                continue
            room -= cost
            chosen.append(piece)
            for neighbour in self._taking(piece):
                heappush(put_back, rank_now(neighbour))
        del ranked[:at]
        put_back.extend(too_large)
        heapify(put_back)
        self._put_back = array("q", put_back)
        return chosen

    def _taking(self, piece: int) -> Iterator[int]:
        """Take a piece, and yield its neighbours that are not taken."""
        source_of, taken = self._table.source_of, self._taken
        taken[piece] = 1
        self._opening[source_of[piece]] = 0
        self._cover(self._table.words(piece))
        for neighbour in (piece - 1, piece + 1):
            if 0 <= neighbour < len(taken) and source_of[neighbour] == source_of[piece]:
                self._closed[neighbour] += 1
                if not taken[neighbour]:
                    yield neighbour

    def _cost(self, piece: int) -> float:
        """About how many tokens it takes to show a piece and the marks of gaps next to it."""
        source = self._table.source_of[piece]
        opening = self._opening[source]
        gaps = (2 if opening else 1) - self._closed[piece]
        marks = self._table.gap_tokens[source] * gaps
        return max(0.0, self._table.tokens(piece) + marks + opening)


def ascending(ranks: Iterator[int]) -> "array[int]":
    """The ranks in order; sorted in parts, because so many objects would need too much memory."""
    parts: list[array[int]] = []
    while part := sorted(islice(ranks, measured.SORTED_AT_ONCE)):
        parts.append(array("q", part))
    return parts[0] if len(parts) == 1 else array("q", merge(*parts))
