"""Ranks: the worth of each piece for its tokens, as a number by which pieces are sorted."""

from array import array
from collections.abc import Callable, Iterator
from itertools import accumulate, islice, pairwise
from operator import sub

from context_compression.planning import measured
from context_compression.planning.pieces.table import (
    DUE,
    FAILED,
    FAILURE,
    OUTDATED,
    REASON,
    PieceTable,
)


def ranking(
    table: PieceTable,
    opening: "array[int]",
    closed: bytearray,
    worth_now: Callable[[int], float],
) -> tuple[Callable[[int], int], Iterator[int]]:
    """A function that gives the current rank of a piece, and the ranks of all pieces in order.

    A smaller rank is better. The lower 32 bits of a rank hold the piece; of pieces with equal worth
    the newest comes first.

    Args:
        table: the pieces.
        opening: for each source, the tokens it costs to show any more of it.
        closed: for each piece, on how many of its sides no text is missing.
        worth_now: takes the number of a word and returns its current worth.
    """
    # closures over locals, because attributes would be slower for tens of thousands of pieces
    source_of, shifts, per_char = table.source_of, table.shifts, table.per_char
    always = array("d", [source.worth for source in table.sources])
    weights = array("d", [source.weight for source in table.sources])
    rates = array("d", [source.per_token for source in table.sources])
    cutter, sides, placed = table.cutter, measured.SIDES_TOKENS, _placing(table)
    starts, stops, words, ends = cutter.starts, cutter.stops, cutter.words, cutter.ends

    def rank(piece: int) -> int:
        source = source_of[piece]
        number = piece + shifts[source]
        worth = sum(map(worth_now, words[ends[number] : ends[number + 1]])) + always[source]
        tokens = (stops[number] - starts[number]) * per_char[source]
        worth += rates[source] * tokens
        cost = tokens + sides[closed[piece]] + opening[source]
        return placed(piece, worth, weights[source], cost)

    def ranks() -> Iterator[int]:
        """The ranks of all pieces, source by source, which is faster than one by one."""
        for source, (first, stop) in enumerate(pairwise(table.firsts)):
            shift, each, opens = shifts[source], per_char[source], opening[source]
            worth, weight = always[source], weights[source]
            here = slice(first + shift, stop + shift)
            around = ends[here.start : here.stop + 1]
            held = words[around[0] : around[-1]]
            sums = [*accumulate(map(worth_now, held), initial=0.0)]
            until = [sums[end - around[0]] for end in around]
            worths = map(sub, islice(until, 1, None), until)
            chars = map(sub, stops[here], starts[here])
            for piece, new, size in zip(range(first, stop), worths, chars, strict=True):
                cost = size * each + sides[closed[piece]] + opens
                yield placed(piece, new + worth + rates[source] * size * each, weight, cost)

    return rank, ranks()


def _placing(table: PieceTable) -> Callable[[int, float, float, float], int]:
    """A function from a piece, its worth, its source's weight and its cost to its rank."""
    signs, most, outdated = table.signs, measured.MOST_WORTH, measured.OUTDATED_WEIGHT
    bonuses = {
        FAILURE: measured.ERROR_BONUS, REASON: measured.REASON_BONUS,
        FAILED: measured.FAILED_BONUS, DUE: measured.DUE_BONUS,
    }  # fmt: skip
    bonus = [
        sum(each for sign, each in bonuses.items() if added & sign) for added in range(2 * DUE)
    ]
    filler = measured.FILLER / max(1, len(table))

    def placed(piece: int, worth: float, weight: float, cost: float) -> int:
        if of_piece := signs[piece]:
            worth += bonus[of_piece]
            if of_piece & OUTDATED:
                worth *= outdated
        ratio = worth * weight / cost + filler * (piece + 1)
        return -((int((ratio if ratio < most else most) * 1e6) << 32) + piece)

    return placed


def piece_of(rank: int) -> int:
    """The piece to which a rank belongs."""
    return -rank & 0xFFFFFFFF
