"""Texts cut into pieces, each with the evidence it holds; done once for each text."""

from array import array
from collections.abc import Sequence
from typing import NamedTuple

from context_compression.evidence import ERROR_WORDS, Lexicon, lines_with

PIECE_CHARS = 120
"""About how long a piece is: a line or a few short ones."""
LONGEST_PIECE = 400


class Cut(NamedTuple):
    """The pieces of a text and what stands in them.

    Attributes:
        starts: where each piece begins.
        stops: where each ends.
        words: the evidence words of all pieces, by number in the lexicon, piece after piece.
        ends: where in `words` those of each piece end.
        errors: where the lines stand that tell of a failure.
    """

    starts: "array[int]"
    stops: "array[int]"
    words: "array[int]"
    ends: "array[int]"
    errors: Sequence[tuple[int, int]]


class Cutter:
    """Cuts the texts of one conversation; a text that was cut before is remembered."""

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon
        self._cuts: dict[str, Cut] = {}
        self.previews: dict[str, Sequence[tuple[int, int]]] = {}
        """Where the parts of a text stand that its preview shows."""

    def clear(self) -> None:
        """Forget all texts and words."""
        self._cuts.clear()
        self.previews.clear()
        self.lexicon.clear()

    def __call__(self, text: str) -> Cut:
        """The pieces of a text."""
        known = self._cuts.get(text)
        if known is None:
            starts, stops = array("I"), array("I")
            words, ends = array("I"), array("I")
            for start, stop in spans(text):
                starts.append(start)
                stops.append(stop)
                words.extend(sorted(self.lexicon.numbers(text, start, stop)))
                ends.append(len(words))
            errors = list(lines_with(text, ERROR_WORDS))
            known = self._cuts[text] = Cut(starts, stops, words, ends, errors)
        return known


def spans(text: str) -> list[tuple[int, int]]:
    """`(start, stop)` of the pieces of a text: lines, short neighbours joined, long ones divided.

    Together the pieces hold every character but the newlines between them.
    """
    found: list[tuple[int, int]] = []
    start = 0
    while start < len(text):
        stop = text.find("\n", start)
        stop = len(text) if stop < 0 else stop
        if stop - start > LONGEST_PIECE:
            while stop - start > LONGEST_PIECE:
                blank = text.rfind(" ", start + LONGEST_PIECE // 2, start + LONGEST_PIECE)
                cut = start + LONGEST_PIECE if blank < 0 else blank
                found.append((start, cut))
                start = cut
            found.append((start, stop))
        elif stop > start:
            joins = found and found[-1][1] == start - 1 and stop - found[-1][0] <= PIECE_CHARS
            first = found.pop()[0] if joins else start
            found.append((first, stop))
        start = stop + 1
    return found
