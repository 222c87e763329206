"""Pieces: the parts of a text, below the message, among which `extract` chooses by evidence.

The choice is budgeted maximum coverage: each piece is worth the evidence it adds to what is in view
already, so the same evidence is not paid for twice. Greedy by worth per token, evaluated lazily;
ties go to the earlier piece, so the same input gives the same choice.
"""

import heapq
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from context_compression import evidence
from context_compression.evidence import Kind, Lexicon

PIECE_CHARS = 360
"""About how long a piece is: a few lines, enough to be understood alone."""
NEWLINE = "\n"
VALUE = (1.0, 0.12, 0.0)
"""What evidence is worth that is in view not at all, once, and more often."""
USED = 6.0
"""Times which a word is worth that the user, the model or a tool call mentions."""
KIND_WEIGHT: dict[Kind, float] = {
    "path": 2.0, "symbol": 2.0, "id": 1.5, "url": 1.0, "flag": 1.0, "number": 0.6,
}  # fmt: skip
ERROR_BONUS = 2.0
REASON_BONUS = 2.0


@dataclass(frozen=True, slots=True)
class Source:
    """A text that competes: where it stands, what a token of it costs, how recent it is.

    Attributes:
        index: of its message.
        slot: of its block in the message.
        key: names one string inside a call's arguments; empty for other blocks.
        text: the whole text.
        tokens: of the whole text.
        recency: 0..1, 1 for the newest.
        opening: tokens it costs to show anything of this source.
        weight: factor for the worth of its pieces.
        spoken: whether somebody said it, so that decisions may stand in it.
        worth: what a piece of it is worth whatever evidence it holds.
    """

    index: int
    slot: int
    text: str
    tokens: int
    recency: float
    opening: int
    weight: float = 1.0
    key: str = ""
    spoken: bool = False
    worth: float = 0.0


class Piece(NamedTuple):
    """A chosen part of a source: characters `start` to `stop`, and about what it costs."""

    source: int
    start: int
    stop: int
    cost: float


class Pool:
    """All pieces that compete for one view.

    They are kept in arrays, a few dozen bytes each: there are tens of thousands in a long session.
    """

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon
        self.sources: list[Source] = []
        self._source, self._start, self._stop = array("I"), array("I"), array("I")
        self._cost, self._bonus = array("f"), array("f")
        self._evidence, self._end = array("I"), array("I", [0])
        self._seen_in, self._last = array("I"), array("I")

    def add(self, source: Source) -> None:
        """Cut a source into pieces and enter them."""
        number = len(self.sources)
        self.sources.append(source)
        per_char = source.tokens / max(1, len(source.text))
        errors = list(evidence.lines_with(source.text, evidence.ERROR_WORDS))
        error = 0
        for start, stop in cut(source.text):
            bonus = source.worth
            while error < len(errors) and errors[error][1] < start:
                error += 1
            if error < len(errors) and errors[error][0] < stop:
                bonus += ERROR_BONUS
            if source.spoken and evidence.DECISION.search(source.text, start, stop):
                bonus += REASON_BONUS
            self._source.append(number)
            self._start.append(start)
            self._stop.append(stop)
            self._cost.append((stop - start) * per_char + 3)
            self._bonus.append(bonus)
            found = self.lexicon.numbers(source.text, start, stop)
            self._evidence.extend(sorted(found))
            self._end.append(len(self._evidence))
            self._notice(found, source.index + 1)

    def _notice(self, found: Iterable[int], index: int) -> None:
        """Count in how many messages each word is seen."""
        missing = [0] * (len(self.lexicon) - len(self._last))
        self._seen_in.extend(missing)
        self._last.extend(missing)
        for number in found:
            if self._last[number] != index:
                self._last[number] = index
                self._seen_in[number] += 1

    def choose(self, room: float, shown: Iterable[str], used: Sequence[int]) -> list[Piece]:
        """The pieces to show, best first, within `room` tokens.

        Args:
            room: tokens to fill.
            shown: texts that are in view already; their evidence is covered.
            used: for each word of the lexicon, not 0 when it was spoken or passed to a tool.
        """
        covered = bytearray()
        for text in shown:
            words = self.lexicon.numbers(text)
            covered.extend(bytes(len(self.lexicon) - len(covered)))
            for number in words:
                covered[number] = 1
        covered.extend(bytes(len(self.lexicon) - len(covered)))
        weights = self._weights(used)
        opened: set[int] = set()

        def price(order: int) -> float:
            source = self._source[order]
            return self._cost[order] + (0 if source in opened else self.sources[source].opening)

        def rank(order: int) -> int:
            worth = self._bonus[order]
            for number in self._evidence[self._end[order] : self._end[order + 1]]:
                worth += weights[number] * VALUE[covered[number]]
            source = self.sources[self._source[order]]
            ratio = worth * source.weight * (0.25 + source.recency) / price(order)
            return -(int(ratio * 1e6) << 32) + order  # one number: ties go to the earlier piece

        heap = [rank(order) for order in range(len(self._cost))]
        heapq.heapify(heap)
        chosen: list[Piece] = []
        while heap:
            order = heapq.heappop(heap) & 0xFFFFFFFF
            now = rank(order)
            if now >= 0:
                continue  # worth nothing any more
            if heap and now > heap[0]:
                heapq.heappush(heap, now)
                continue
            cost = price(order)
            if cost > room:
                continue
            room -= cost
            source = self._source[order]
            opened.add(source)
            for number in self._evidence[self._end[order] : self._end[order + 1]]:
                covered[number] = min(covered[number] + 1, len(VALUE) - 1)
            chosen.append(Piece(source, self._start[order], self._stop[order], cost))
        return chosen

    def _weights(self, used: Sequence[int]) -> "array[float]":
        """What each word is worth: by its kind, where it is seen, and whether it was used."""
        self._notice((), 0)
        weights = array("f", [0.0])
        for number in range(1, len(self.lexicon)):
            seen = self._seen_in[number]
            weight = KIND_WEIGHT[self.lexicon.word(number)[1]] * (1.0 + 0.5 * min(seen - 1, 3))
            weights.append(weight * (USED if number < len(used) and used[number] else 1.0))
        return weights


def cut(text: str) -> Sequence[tuple[int, int]]:
    """`(start, stop)` of the pieces of a text: runs of lines up to a blank line or `PIECE_CHARS`.

    A line too long for a piece is cut by itself. Together the pieces hold every character but the
    newlines between them.
    """
    spans: list[tuple[int, int]] = []
    start = position = 0
    while position <= len(text):
        stop = text.find("\n", position)
        stop = len(text) if stop < 0 else stop
        if stop - position > 2 * PIECE_CHARS:
            if position > start:
                spans.append((start, position - 1))
            spans.extend(
                (at, min(at + PIECE_CHARS, stop)) for at in range(position, stop, PIECE_CHARS)
            )
            start = stop + 1
        elif stop - start > PIECE_CHARS or (stop == position and position - start > 40):
            if position > start and stop - start > PIECE_CHARS:
                spans.append((start, position - 1))
                start = position
            if stop == position:
                if position - 1 > start:
                    spans.append((start, position - 1))
                start = stop + 1
        position = stop + 1
    if start < len(text):
        spans.append((start, len(text)))
    return [(a, b) for a, b in spans if a < b]


def render(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """The chosen spans of a text in order, gaps marked with what is missing."""
    shown: list[str] = []
    position = 0
    for start, stop in sorted(spans):
        start = max(start, position)
        if start >= stop:
            continue
        between = text[position:start]
        if not between.strip("\n"):
            shown.append(between)
        else:
            shown.append(f"{NEWLINE if shown else ''}{gap(text, position, start)}\n")
        shown.append(text[start:stop])
        position = stop
    if text[position:].strip("\n"):
        shown.append(f"{NEWLINE if shown else ''}{gap(text, position, len(text))}")
    return "".join(shown)


def gap(text: str, start: int, stop: int) -> str:
    """The mark of a gap: `[... 12 lines ...]`, or characters where it lies within a line."""
    missing = text[start:stop].strip("\n")
    lines = missing.count("\n") + 1
    return f"[... {lines} lines ...]" if lines > 1 else f"[... {len(missing)} characters ...]"
