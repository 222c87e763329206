"""`Choice`: the best pieces that fit, taken one after another."""

from array import array
from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush, merge
from itertools import islice

from context_compression.planning import measured
from context_compression.planning.pieces.ranking import piece_of, ranking
from context_compression.planning.pieces.table import PieceTable
from context_compression.planning.pieces.weights import Weights

LAST = (1 << 63) - 1
"""Behind all ranks."""


class Choice:
    """Pieces chosen so far, and those that still compete."""

    def __init__(self, table: PieceTable, shown: Iterable[int], weights: Weights) -> None:
        """None is chosen yet.

        Args:
            table: of the pieces.
            shown: evidence words that are in view already, by number.
            weights: what each word is worth; those in view become 0.
        """
        self._table = table
        self._worth_now = weights
        self._cover(shown)
        self._opening = array("I", [source.opening for source in table.sources])
        self._taken = bytearray(len(table))
        self._closed = table.edges[:]  # for each piece, on how many sides nothing is missing
        self._rank, ranks = ranking(table, self._opening, self._closed, weights.__getitem__)
        # ranks in order, as they were at first, and of pieces that were looked at again, as a heap
        self._ranked = ascending(ranks)
        self._ranked.append(LAST)
        self._put_back = array("q", [LAST])

    def _cover(self, words: Iterable[int]) -> None:
        """From now on the words are worth nothing: they are in view."""
        weights = self._worth_now
        known = weights if isinstance(weights, dict) else range(len(weights))
        for number in words:
            if number in known:  # else it stands in no piece
                weights[number] = 0.0

    def take(self, room: float) -> "array[int]":
        """The best pieces that fit into `room` tokens, the best first; they are taken then."""
        # As evidence comes into view ranks only get worse, so a piece that is still the best when
        # it is ranked again is the best of all. Only next to a chosen piece they get better: those
        # are ranked at once. (Elsewhere in its text when their turn comes, so that more texts are
        # opened.)
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
        """Take a piece; then its neighbours that are not."""
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
        """About how many tokens it takes to show a piece: next to others fewer gaps are marked."""
        source = self._table.source_of[piece]
        opening = self._opening[source]
        gaps = (2 if opening else 1) - self._closed[piece]
        marks = self._table.gap_tokens[source] * gaps
        return max(0.0, self._table.tokens(piece) + marks + opening)


def ascending(ranks: Iterator[int]) -> "array[int]":
    """The ranks in order; not sorted all at once, so many objects would be the peak of memory."""
    parts: list[array[int]] = []
    while part := sorted(islice(ranks, measured.SORTED_AT_ONCE)):
        parts.append(array("q", part))
    return parts[0] if len(parts) == 1 else array("q", merge(*parts))
