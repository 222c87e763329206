"""Pieces: the parts of a text, below the message, among which `extract` chooses by evidence.

The choice is budgeted maximum coverage: each piece is worth the evidence it adds to what is in view
already, so the same evidence is not paid for twice. Greedy by worth per token, evaluated lazily;
ties go to the earlier piece, so the same input gives the same choice.
"""

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from context_compression import evidence
from context_compression.evidence import Kind, Lexicon

PIECE_CHARS = 360
"""About how long a piece is: a few lines, enough to be understood alone."""
NEWLINE = "\n"
SECOND_TIME = 0.12
"""What evidence is worth that is in view once already; after that it is worth nothing."""
KIND_WEIGHT: dict[Kind, float] = {
    "path": 2.0, "symbol": 2.0, "id": 1.5, "url": 1.0, "flag": 1.0, "number": 0.6,
}  # fmt: skip
ERROR_BONUS = 2.0
REASON_BONUS = 2.0


@dataclass(frozen=True)
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
    """

    index: int
    slot: int
    text: str
    tokens: int
    recency: float
    opening: int
    weight: float = 1.0
    key: str = ""


@dataclass(slots=True)
class Piece:
    """A part of a source: characters `start` to `stop`, and the evidence in it by number."""

    source: int
    start: int
    stop: int
    cost: float
    bonus: float
    evidence: tuple[int, ...]


@dataclass
class Pool:
    """All pieces that compete for one view."""

    lexicon: Lexicon
    keywords: tuple[str, ...] = ()
    sources: list[Source] = field(default_factory=list[Source])
    pieces: list[Piece] = field(default_factory=list[Piece])
    _numbers: dict[str, int] = field(default_factory=dict[str, int])
    _weights: list[float] = field(default_factory=list[float])
    _seen_in: list[int] = field(default_factory=list[int])
    _last: list[int] = field(default_factory=list[int])

    def add(self, source: Source) -> None:
        """Cut a source into pieces and enter them."""
        position = len(self.sources)
        self.sources.append(source)
        per_char = source.tokens / max(1, len(source.text))
        errors = list(evidence.lines_with(source.text, evidence.ERROR_WORDS))
        error = 0
        for start, stop in cut(source.text):
            text = source.text[start:stop]
            numbers = self._evidence(text, source.index)
            bonus = 0.0
            while error < len(errors) and errors[error][1] < start:
                error += 1
            if error < len(errors) and errors[error][0] < stop:
                bonus += ERROR_BONUS
            if evidence.DECISION.search(text):
                bonus += REASON_BONUS
            cost = (stop - start) * per_char + 3
            self.pieces.append(Piece(position, start, stop, cost, bonus, numbers))

    def _evidence(self, text: str, index: int) -> tuple[int, ...]:
        found: list[int] = []
        numbers = self._numbers
        for word, kind in self.lexicon.words(text):
            number = numbers.get(word)
            if number is None:
                number = numbers[word] = len(numbers)
                self._weights.append(KIND_WEIGHT[kind])
                self._seen_in.append(1)
                self._last.append(index)
            elif self._last[number] != index:
                self._seen_in[number] += 1
                self._last[number] = index
            found.append(number)
        found.sort()
        return tuple(found)

    def choose(self, room: float, shown: Iterable[str], used: Iterable[str]) -> list[Piece]:
        """The pieces to show, best first, within `room` tokens.

        Args:
            room: tokens to fill.
            shown: texts that are in view already; their evidence is covered.
            used: evidence words that were spoken or passed to a tool.
        """
        weights = self._weights
        for number, seen in enumerate(self._seen_in):
            weights[number] *= 1.0 + 0.5 * min(seen - 1, 3)
        for word in used:
            if (number := self._numbers.get(word)) is not None:
                weights[number] *= 2.5
        covered = [0] * len(weights)
        for text in shown:
            for word, _ in self.lexicon.words(text):
                if (number := self._numbers.get(word)) is not None:
                    covered[number] = 1
        opened: set[int] = set()

        def ratio(piece: Piece) -> float:
            worth = piece.bonus
            for number in piece.evidence:
                times = covered[number]
                if times == 0:
                    worth += weights[number]
                elif times == 1:
                    worth += weights[number] * SECOND_TIME
            source = self.sources[piece.source]
            cost = piece.cost + (0 if piece.source in opened else source.opening)
            return worth * source.weight * (0.25 + source.recency) / cost

        heap = [(-ratio(piece), order) for order, piece in enumerate(self.pieces)]
        heapq.heapify(heap)
        chosen: list[Piece] = []
        while heap:
            _, order = heapq.heappop(heap)
            piece = self.pieces[order]
            now = ratio(piece)
            if now <= 0:
                continue
            if heap and now < -heap[0][0] - 1e-12:
                heapq.heappush(heap, (-now, order))
                continue
            cost = piece.cost + (
                0 if piece.source in opened else self.sources[piece.source].opening
            )
            if cost > room:
                continue
            room -= cost
            opened.add(piece.source)
            for number in piece.evidence:
                covered[number] += 1
            chosen.append(piece)
        return chosen


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
    """The mark of a gap: `[… 12 lines …]`, or characters where it lies within a line."""
    lines = text.count("\n", start, stop)
    return f"[… {lines} lines …]" if lines > 1 else f"[… {stop - start} characters …]"
