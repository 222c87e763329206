"""Pieces: the parts of a text, below the message, among which `extract` chooses by evidence.

The choice is budgeted maximum coverage: each piece is worth the evidence it adds to what is in view
already, so the same evidence is not paid for twice. Greedy by worth per token, evaluated lazily;
of pieces worth the same the newest is taken, so the same input gives the same choice.
"""

from array import array
from bisect import bisect, bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush, merge
from itertools import accumulate, chain, islice, pairwise
from operator import sub
from typing import NamedTuple, TypeAlias

from context_compression.conversation.rendering import Span, gap_tokens
from context_compression.evidence import facts as evidence
from context_compression.evidence.numbering import PROSE_KINDS, ProseKind
from context_compression.evidence.words import KINDS, Kind
from context_compression.planning.cuts import Cutter

USED = 6.0
"""Times which a word is worth that the user, the model or a tool call mentions."""
KIND_WEIGHT: dict[Kind, float] = {
    "path": 3.0, "symbol": 2.0, "id": 1.5, "url": 1.0, "flag": 3.0, "number": 0.15625,
}  # fmt: skip
"""What a word of a kind is worth. Each is a sum of few powers of two, so that what a piece is worth
does not hang on the order of its words."""
PROSE_WEIGHT: dict[ProseKind, float] = {"name": 16.0, "term": 4.0, "pair": 0.5}
"""The same in prose, where it makes no difference who uses a word and how often: everybody says all
of them."""
MANY = 3
"""Messages a word is seen in from which on more make no difference."""
ERROR_BONUS = 1.0
"""What a piece is worth besides that speaks of failures, as code does, too."""
FAILED_BONUS = 9.0
"""What it is worth beside that where it says why a call failed, or how many tests did."""
REASON_BONUS = 8.0
"""The same for one in which somebody says what was decided, or why."""
DUE_BONUS = 30.0
"""The same for one that says what is still to be done."""
FAILURE, REASON, OUTDATED, FAILED, DUE = 1, 2, 4, 8, 16
"""Mark pieces that speak of failures, that tell a decision, what was replaced since, why a call
failed, or how many tests did, and what is still to be done."""
FIRST_FAILURES = 3
"""Pieces that say why a call failed: the first of its result that speak of failures. The hundredth
error of a build tells little."""
OUTDATED_WEIGHT = 0.5
"""Times which evidence counts in what was replaced: the file says something else now."""
FILLER = 0.0003
"""What a token is worth that holds no new evidence, if it is the newest: room is not left empty."""
SMALLEST_PIECE = 5
"""Tokens below which it is not worth while to look for a piece that fits."""
SIDES = (12.0, 6.0, 2.0)
"""What a piece costs beside its text when pieces are compared: alone, beside one that is in view or
an end of the text, between two."""
MOST = 2_000.0
"""Worth per token above which pieces are equal: a rank has 64 bits."""
AT_ONCE = 1 << 14
"""Ranks that are sorted at once."""
LAST = (1 << 63) - 1
"""Behind all ranks."""


def word_weights() -> Mapping[tuple[int, int, int], float]:
    """What a word is worth: by the number of its kind, messages it is seen in, whether it is used.

    One that no piece holds is worth nothing.
    """
    times = [0.0, *(0.5 + 0.5 * messages for messages in range(1, MANY + 1))]
    found = {
        (kind, messages, used): KIND_WEIGHT[name] * times[messages] * (USED if used else 1.0)
        for kind, name in enumerate(KINDS)
        for messages in range(MANY + 1)
        for used in range(2)
    }
    in_prose = {
        (kind, messages, used): PROSE_WEIGHT[name] if messages else 0.0
        for kind, name in enumerate(PROSE_KINDS, len(KINDS))
        for messages in range(MANY + 1)
        for used in range(2)
    }
    return found | in_prose


WEIGHTS = word_weights()


class Source(NamedTuple):
    """A text that competes: where it stands and what a token of it costs.

    Attributes:
        message: which one it is from, by index.
        slot: of its block in the message.
        text: the whole text.
        tokens: of the whole text.
        opening: tokens it costs to show anything of this source.
        weight: factor for the worth of its pieces.
        key: which text of a call it is; empty for other blocks.
        spoken: where in it somebody says something, so that decisions may stand there.
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

Weights: TypeAlias = "array[float] | dict[int, float]"
"""What each word is worth, by its number."""


class Pool:
    """All pieces that compete for one view, numbered in the order of their sources.

    Attributes:
        sources: the texts.
        source_of: of each piece the number of its source.
        tells: of each piece what it tells besides, added up: `FAILURE`, `REASON`, …
        edges: on how many sides of each piece its text ends.
        gap_tokens: of each source what the mark of a gap in it costs.
    """

    def __init__(self, cutter: Cutter) -> None:
        self.cutter = cutter
        self.sources: list[Source] = []
        self.source_of = array("I")
        self.tells = bytearray()
        self.edges = bytearray()
        self.gap_tokens = bytearray()
        self._firsts = array("I", [0])  # of each source its first piece; one more than sources
        self._shifts = array("q")  # of each source: from the number of a piece here to the cutter's
        self._per_char = array("d")  # of each source: tokens
        self._seen_in = bytearray()  # for each word, how many messages, `MANY` at most
        self._message, self._noticed = -1, set[int]()

    def __len__(self) -> int:
        return len(self.source_of)

    def add(self, source: Source, outdated: Iterable[Span] = (), due: Iterable[Span] = ()) -> None:
        """Cut a source into pieces and enter them.

        Args:
            source: the text.
            outdated: where in it stands what is so no more.
            due: where in it stands what is still to be done.
        """
        cutter, pieces = self.cutter, self.cutter(source.text)
        if source.start:
            first = bisect(cutter.stops, source.start, pieces.start, pieces.stop)
            pieces = range(first, pieces.stop)
        if source.end is not None:
            end = bisect_left(cutter.starts, source.end, pieces.start, pieces.stop)
            pieces = range(pieces.start, end)
        here = slice(pieces.start, pieces.stop)
        starts, stops = cutter.starts[here], cutter.stops[here]
        tells = cutter.fails[here]

        def within(span: Span) -> range:
            """The pieces that a span meets, counted from the first of the source."""
            return range(bisect(stops, span[0]), bisect_left(starts, span[1]))

        if source.failed:
            for at in islice((at for at, fails in enumerate(tells) if fails), FIRST_FAILURES):
                tells[at] |= FAILED
        printed = not source.key and not source.spoken
        if printed and (told := evidence.count_of_tests(source.text)):
            for at in within(told):
                tells[at] |= FAILED
        for said in source.spoken:
            for at in within(said):
                if evidence.DECISION.search(source.text, starts[at], stops[at]):
                    tells[at] |= REASON
        for span in due:
            for at in within(span):
                tells[at] |= DUE
        for replaced in outdated:
            for at in within(replaced):
                tells[at] = tells[at] & ~DUE | OUTDATED
        self._shifts.append(pieces.start - len(self))
        self._per_char.append(source.tokens / max(1, len(source.text)))
        self.source_of.extend([len(self.sources)] * len(pieces))
        self._firsts.append(len(self))
        self.tells.extend(tells)
        if pieces:
            self.edges.extend(bytes(len(pieces)))
            self.edges[len(self) - len(pieces)] += 1
            self.edges[-1] += 1
        self.sources.append(source)
        self.gap_tokens.append(gap_tokens(source.text))
        if source.message != self._message:
            if self._noticed:
                self._count()
            self._message = source.message
        self._noticed.update(cutter.words_of(pieces))

    def _count(self) -> None:
        """Count the words of the last message."""
        seen_in = self._seen_in
        seen_in.extend(bytes(len(self.cutter.numbering) - len(seen_in)))
        for number in self._noticed:
            if seen_in[number] < MANY:
                seen_in[number] += 1
        self._noticed.clear()

    def count(self, source: int) -> int:
        """How many pieces a source has."""
        return self._firsts[source + 1] - self._firsts[source]

    def place(self, piece: int) -> Place:
        """Where a piece stands."""
        source = self.source_of[piece]
        number = piece + self._shifts[source]
        return source, self.cutter.starts[number], self.cutter.stops[number]

    def tokens(self, piece: int) -> float:
        """Tokens of a piece, about."""
        source, start, stop = self.place(piece)
        return (stop - start) * self._per_char[source]

    def words(self, piece: int) -> "array[int]":
        """The evidence words of a piece."""
        number, cutter = piece + self._shifts[self.source_of[piece]], self.cutter
        return cutter.words[cutter.ends[number] : cutter.ends[number + 1]]

    def choice(self, shown: Iterable[int], used: Sequence[int]) -> "Choice":
        """A choice among the pieces.

        Args:
            shown: evidence words that are in view already, by number.
            used: for each word by its number, not 0 when it was spoken or passed to a tool.
        """
        return Choice(self, shown, self.weights(used))

    def weights(self, used: Sequence[int]) -> Weights:
        """What each word is worth: by its kind, where it is seen, and whether it was used.

        `used` is as in `choice`.
        """
        kinds, known = self.cutter.numbering.kinds, len(used)
        if not self._seen_in:  # one message holds few of all words
            return {n: WEIGHTS[kinds[n], 1, n < known and used[n]] for n in self._noticed}
        self._count()
        later = bytes(len(kinds) - known)
        told = zip(kinds, self._seen_in, chain(used, later), strict=True)
        return array("f", map(WEIGHTS.__getitem__, told))

    def ranking(
        self, opening: "array[int]", beside: bytearray, worth_now: Callable[[int], float]
    ) -> tuple[Callable[[int], int], Iterator[int]]:
        """The function that ranks a piece as things are, and all pieces ranked by it, in order.

        A rank is the place among all, less is better. Its lower 32 bits tell the piece; of pieces
        worth the same the newest comes first.

        Args:
            opening: for each source, tokens it costs to show anything more of it.
            beside: for each piece, on how many of its sides nothing is missing.
            worth_now: of a word, by its number.
        """
        source_of, shifts, per_char, tells = (
            self.source_of, self._shifts, self._per_char, self.tells,
        )  # fmt: skip
        bonuses = {FAILURE: ERROR_BONUS, REASON: REASON_BONUS, FAILED: FAILED_BONUS, DUE: DUE_BONUS}
        bonus = [
            sum(each for sign, each in bonuses.items() if told & sign) for told in range(2 * DUE)
        ]
        always = array("d", [source.worth for source in self.sources])
        cutter = self.cutter
        starts, stops, words, ends = cutter.starts, cutter.stops, cutter.words, cutter.ends
        weights = array("d", [source.weight for source in self.sources])
        filler, sides = FILLER / max(1, len(self)), SIDES

        def rank(piece: int) -> int:
            source = source_of[piece]
            number = piece + shifts[source]
            worth = sum(map(worth_now, words[ends[number] : ends[number + 1]])) + always[source]
            tokens = (stops[number] - starts[number]) * per_char[source]
            cost = tokens + sides[beside[piece]] + opening[source]
            return placed(piece, worth, weights[source], cost)

        def placed(piece: int, worth: float, weight: float, cost: float) -> int:
            if told := tells[piece]:
                worth += bonus[told]
                if told & OUTDATED:
                    worth *= OUTDATED_WEIGHT
            ratio = worth * weight / cost + filler * (piece + 1)
            return -((int((ratio if ratio < MOST else MOST) * 1e6) << 32) + piece)

        def ranks() -> Iterator[int]:
            """Of all pieces, those of a source together: faster than one by one."""
            for source, (first, stop) in enumerate(pairwise(self._firsts)):
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
                    cost = size * each + sides[beside[piece]] + opens
                    yield placed(piece, new + worth, weight, cost)

        return rank, ranks()


class Choice:
    """Pieces chosen so far, and those that still compete."""

    def __init__(self, pool: Pool, shown: Iterable[int], weights: Weights) -> None:
        self._pool = pool
        self._worth_now = weights
        self._cover(shown)
        self._opening = array("I", [source.opening for source in pool.sources])
        self._taken = bytearray(len(pool))
        self._beside = pool.edges[:]
        self._rank, ranks = pool.ranking(self._opening, self._beside, weights.__getitem__)
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
        # it is ranked anew is the best of all. Only beside a chosen piece they get better: those
        # are ranked at once. (Elsewhere in its text when their turn comes, so that more texts are
        # opened.)
        ranked, put_back, rank_now = self._ranked, [*self._put_back], self._rank
        chosen, too_large = array("I"), array("q")
        at = 0
        while room >= SMALLEST_PIECE:
            rank = ranked[at]
            if put_back[0] < rank:
                rank = heappop(put_back)
            elif rank == LAST:
                break
            else:
                at += 1
            piece = -rank & 0xFFFFFFFF
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
        source_of, taken = self._pool.source_of, self._taken
        taken[piece] = 1
        self._opening[source_of[piece]] = 0
        self._cover(self._pool.words(piece))
        for neighbour in (piece - 1, piece + 1):
            if 0 <= neighbour < len(taken) and source_of[neighbour] == source_of[piece]:
                self._beside[neighbour] += 1
                if not taken[neighbour]:
                    yield neighbour

    def _cost(self, piece: int) -> float:
        """About how many tokens it takes to show a piece: beside others fewer gaps are marked."""
        source = self._pool.source_of[piece]
        opening = self._opening[source]
        gaps = (2 if opening else 1) - self._beside[piece]
        marks = self._pool.gap_tokens[source] * gaps
        return max(0.0, self._pool.tokens(piece) + marks + opening)


def ascending(ranks: Iterator[int]) -> "array[int]":
    """The ranks in order; not sorted all at once, so many objects would be the peak of memory."""
    parts: list[array[int]] = []
    while part := sorted(islice(ranks, AT_ONCE)):
        parts.append(array("q", part))
    return parts[0] if len(parts) == 1 else array("q", merge(*parts))
