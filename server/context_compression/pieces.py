"""Pieces: the parts of a text, below the message, among which `extract` chooses by evidence.

The choice is budgeted maximum coverage: each piece is worth the evidence it adds to what is in view
already, so the same evidence is not paid for twice. Greedy by worth per token, evaluated lazily;
of pieces worth the same the newest is taken, so the same input gives the same choice.
"""

import heapq
from array import array
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from context_compression import evidence
from context_compression.cuts import Cut, Cutter
from context_compression.evidence import Kind

NEWLINE = "\n"
GAP_CHARS = 24
"""Characters up to which a gap is shown: its mark would be hardly shorter."""
SECOND = 0.12
"""What evidence is worth that is in view already, in times of its worth; a third time: nothing."""
USED = 6.0
"""Times which a word is worth that the user, the model or a tool call mentions."""
KIND_WEIGHT: dict[Kind, float] = {
    "path": 3.0, "symbol": 2.0, "id": 1.5, "url": 1.0, "flag": 1.0, "number": 0.15,
}  # fmt: skip
ERROR_BONUS = 0.5
"""What a piece is worth besides that tells of a failure."""
REASON_BONUS = 2.0
"""The same for one in which somebody says what was decided, or why."""
FILLER = 0.0003
"""What a token is worth that holds no new evidence, if it is the newest: room is not left empty."""
SMALLEST_PIECE = 5
"""Tokens below which it is not worth while to look for a piece that fits."""


@dataclass(frozen=True, slots=True)
class Source:
    """A text that competes: where it stands and what a token of it costs.

    Attributes:
        index: of its message.
        slot: of its block in the message.
        key: names one string inside a call's arguments; empty for other blocks.
        text: the whole text.
        tokens: of the whole text.
        opening: tokens it costs to show anything of this source.
        weight: factor for the worth of its pieces.
        spoken: whether somebody said it, so that decisions may stand in it.
        worth: what a piece of it is worth whatever evidence it holds.
    """

    index: int
    slot: int
    text: str
    tokens: int
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

    def __init__(self, cutter: Cutter) -> None:
        self.cutter = cutter
        self.sources: list[Source] = []
        self._cuts: list[Cut] = []
        self._source, self._piece = array("I"), array("I")
        self._cost, self._bonus = array("f"), array("f")
        self._seen_in, self._last = array("I"), array("I")

    def add(self, source: Source) -> None:
        """Cut a source into pieces and enter them."""
        number = len(self.sources)
        cut = self.cutter(source.text)
        self.sources.append(source)
        self._cuts.append(cut)
        count, per_char = len(cut.starts), source.tokens / max(1, len(source.text))
        self._source.extend([number] * count)
        self._piece.extend(range(count))
        self._cost.extend(
            (stop - start) * per_char + 3 for start, stop in zip(cut.starts, cut.stops, strict=True)
        )
        self._bonus.extend(self._bonuses(source, cut))
        self._notice(cut.words, source.index)

    def _bonuses(self, source: Source, cut: Cut) -> Iterable[float]:
        """What each piece of a source is worth beside the evidence in it."""
        if not cut.errors and not source.spoken:
            return [source.worth] * len(cut.starts)
        bonuses: list[float] = []
        error = 0
        for start, stop in zip(cut.starts, cut.stops, strict=True):
            bonus = source.worth
            while error < len(cut.errors) and cut.errors[error][1] < start:
                error += 1
            if error < len(cut.errors) and cut.errors[error][0] < stop:
                bonus += ERROR_BONUS
            if source.spoken and evidence.DECISION.search(source.text, start, stop):
                bonus += REASON_BONUS
            bonuses.append(bonus)
        return bonuses

    def _notice(self, words: Iterable[int], index: int) -> None:
        """Count in how many messages each word is seen."""
        missing = [0] * (len(self.cutter.lexicon) - len(self._seen_in))
        self._seen_in.extend(missing)
        self._last.extend(missing)
        seen_in, last = self._seen_in, self._last
        for number in set(words):
            if last[number] <= index:
                last[number] = index + 1
                seen_in[number] += 1

    def __len__(self) -> int:
        return len(self._cost)

    def piece(self, order: int, cost: float) -> Piece:
        """A piece by its number."""
        source, piece = self._source[order], self._piece[order]
        cut = self._cuts[source]
        return Piece(source, cut.starts[piece], cut.stops[piece], cost)

    def price(self, order: int, opened: Container[int]) -> float:
        """Tokens it costs to show a piece, when something of the opened sources is shown."""
        source = self._source[order]
        return self._cost[order] + (0 if source in opened else self.sources[source].opening)

    def words(self, order: int) -> "array[int]":
        """The evidence words of a piece."""
        cut, piece = self._cuts[self._source[order]], self._piece[order]
        return cut.words[cut.ends[piece - 1] if piece else 0 : cut.ends[piece]]

    def choice(self, shown: Iterable[str], used: Sequence[int]) -> "Choice":
        """A choice among the pieces.

        Args:
            shown: texts that are in view already; their evidence is covered.
            used: for each word of the lexicon, not 0 when it was spoken or passed to a tool.
        """
        return Choice(self, shown, self._weights(used))

    def rank(self, order: int, opened: Container[int], worth_now: Callable[[int], float]) -> int:
        """The place of a piece among all: less is better, ties go to the newer piece."""
        worth = self._bonus[order] + sum(map(worth_now, self.words(order)))
        weight = self.sources[self._source[order]].weight
        return self._entry(order, worth * weight / self.price(order, opened))

    def ranks(self, worth_now: Callable[[int], float]) -> Iterator[int]:
        """The ranks of all pieces while nothing is shown, with less work than one by one."""
        order = 0
        for source, cut in zip(self.sources, self._cuts, strict=True):
            words, start = cut.words, 0
            for end in cut.ends:
                worth = self._bonus[order]
                if start < end:
                    worth += sum(map(worth_now, words[start:end]))
                yield self._entry(
                    order, worth * source.weight / (self._cost[order] + source.opening)
                )
                order, start = order + 1, end

    def _entry(self, order: int, ratio: float) -> int:
        ratio += FILLER * (order + 1) / len(self._cost)
        return -(int(ratio * 1e6) << 32) + order

    def _weights(self, used: Sequence[int]) -> "array[float]":
        """What each word is worth: by its kind, where it is seen, and whether it was used."""
        weights = array("d", bytes(8 * len(self.cutter.lexicon)))
        word, known = self.cutter.lexicon.word, len(used)
        for number in set[int]().union(*(cut.words for cut in self._cuts)):
            times = min(self._seen_in[number], 4)
            weight = KIND_WEIGHT[word(number)[1]] * (0.5 + 0.5 * times)
            weights[number] = weight * USED if number < known and used[number] else weight
        return weights


class Choice:
    """Pieces chosen so far, and those that still compete."""

    def __init__(self, pool: Pool, shown: Iterable[str], weights: "array[float]") -> None:
        self._pool = pool
        self._worth_now = weights
        self._covered = bytearray(len(weights))
        for text in shown:
            self._cover(pool.cutter.lexicon.numbers(text))
        self._opened: set[int] = set()
        self._heap = list(pool.ranks(weights.__getitem__))
        heapq.heapify(self._heap)

    def _cover(self, words: Iterable[int]) -> None:
        """From now on the words are worth what they are once more in view."""
        for number in words:
            if number < len(self._covered):  # else it stands in no piece
                self._worth_now[number] *= 0.0 if self._covered[number] else SECOND
                self._covered[number] = 1

    def take(self, room: float) -> list[Piece]:
        """The best pieces that fit into `room` tokens, the best first; they are taken then."""
        pool, heap, worth_now = self._pool, self._heap, self._worth_now.__getitem__
        chosen: list[Piece] = []
        too_large: list[int] = []
        while heap and room >= SMALLEST_PIECE:
            entry = heapq.heappop(heap)
            order = entry & 0xFFFFFFFF
            cost = pool.price(order, self._opened)
            if cost > room:
                too_large.append(entry)
                continue
            now = pool.rank(order, self._opened, worth_now)
            if heap and now > heap[0]:
                heapq.heappush(heap, now)
                continue
            piece = pool.piece(order, cost)
            room -= cost
            chosen.append(piece)
            self._opened.add(piece.source)
            self._cover(pool.words(order))
        for entry in too_large:
            heapq.heappush(heap, entry)
        return chosen


def render(text: str, spans: Sequence[tuple[int, int]], ref: str = "") -> str:
    """The chosen spans of a text in order, gaps marked with what is missing, the first with `ref`.

    A gap smaller than its mark is shown.
    """
    shown: list[str] = []
    position = 0
    for start, stop in (*sorted(spans), (len(text), len(text))):
        start = max(start, position)
        between = text[position:start]
        if not between.strip("\n") or len(between) <= GAP_CHARS:
            shown.append(between)
        else:
            mark = gap(between, ref)
            ref = ""
            shown.append(f"{NEWLINE if shown else ''}{mark}{NEWLINE if start < len(text) else ''}")
        shown.append(text[start:stop])
        position = max(position, stop)
    return "".join(shown)


def gap(missing: str, ref: str = "") -> str:
    """The mark of a gap: `[… 12 lines]`, or characters where it lies within a line."""
    missing = missing.strip("\n")
    lines = missing.count("\n") + 1
    what = f"{lines} lines" if lines > 1 else f"{len(missing)} characters"
    return f"[… {what}{'; ref ' + ref if ref else ''}]"
