"""Pieces: parts of texts, smaller than a message, among which `extract` chooses by evidence.

A conversation is compressed again and again as it grows, so each text is cut only once, and the
last cutters are kept.
"""

import re
from array import array
from bisect import bisect, bisect_left
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from heapq import heapify, heappop, heappush, merge
from itertools import accumulate, chain, islice, pairwise
from operator import sub
from typing import NamedTuple, TypeAlias

from context_compression.conversation.labels import Span, gap_tokens
from context_compression.evidence import facts as evidence
from context_compression.evidence.facts import failures_in
from context_compression.evidence.names import NO_NAMES, Names
from context_compression.evidence.words import KINDS, PROSE_KINDS, Numbering
from context_compression.planning import measured
from context_compression.tokens.o200k import key_of

HEADS = (
    "@@ ", "diff ", "#", "|", "def ", "class ", "func ", "function ", "export ", "FAIL", "===",
    "- [ ] ", "[Files", "[Other files", "[More names",
)  # fmt: skip
"""The beginnings of lines that are not joined to the line before: a hunk, a file of a diff, a
heading, a table row, a definition, the report of a test, an empty check box, and a line of files or
names in a note of this package."""
PART_ENDS = re.compile(
    r'(?:\\n)+|,\s?(?=["{])|(?<!\b[A-Z][a-z])(?<!\b[A-Z][a-z]{2})[.!?]\s|[。！？]'
)
"""The end of a part of a long line: a line within a JSON string, a member in JSON, or a sentence. A
sentence does not end after `Mr.` or `Hon.` The first end after `PIECE_CHARS` is taken."""
SEPARATORS = ',;"'
"""A line without such an end and without a blank is divided after one of these."""


class Cutter:
    """Cuts the texts of one conversation, each text only once.

    The pieces of all texts are in the same arrays, because a long session has tens of thousands.

    Attributes:
        starts: for each piece its start in its text.
        stops: for each piece its end in its text.
        words: the evidence words of all pieces, by number, piece after piece.
        ends: for each piece the index in `words` where its words begin, then the length of `words`.
        fails: for each piece 1 if it mentions a failure, else 0.
        same: for each piece the first piece with the same text, itself if there is none: in its
            text, and after `match` in all texts.
    """

    def __init__(self, *, prose: bool = False, known: Names = NO_NAMES) -> None:
        """A cutter without texts; with `prose`, plain words are evidence too.

        `known` are the names that `Numbering` finds whole.
        """
        self.prose, self.known = prose, known
        self.clear()

    def clear(self) -> None:
        """Forget all texts and words."""
        self.numbering = Numbering(prose=self.prose, known=self.known)
        self.starts, self.stops = array("I"), array("I")
        self.words, self.ends = array("I"), array("I", [0])
        self.fails = bytearray()
        self.same = array("I")
        self._hashes = array("q")  # for each piece the hash of its text
        self._matched = 0  # how many pieces `match` has compared
        self._numbers: dict[str, int] = {}  # the number of each text of this compression
        self._known: dict[int, int] = {}  # those of texts of earlier compressions, by their keys
        # the number of each text of this compression with sentences that are pieces of their own
        self._with_repeated: dict[tuple[str, tuple[Span, ...]], int] = {}
        self._firsts = array("I", [0])  # the first piece of each text, then the number of pieces

    def __call__(self, text: str, repeated: tuple[Span, ...] = ()) -> range:
        """The pieces of a text, by number.

        Repeated sentences are pieces of their own. A text with them is cut once more in each
        compression, because what is repeated changes as a conversation grows.
        """
        if repeated:
            return self._divided(text, repeated)
        number = self._numbers.get(text)
        if number is None:
            number = self._known.get(key_of(text)) if self._known else None
            if number is None:
                number = self._cut(text, *spans(text))
            self._numbers[text] = number
        return self._pieces(number)

    def _pieces(self, number: int) -> range:
        return range(self._firsts[number], self._firsts[number + 1])

    def _divided(self, text: str, repeated: tuple[Span, ...]) -> range:
        number = self._with_repeated.get((text, repeated))
        if number is None:
            whole = self(text)
            here = slice(whole.start, whole.stop)
            pieces = divided(text, self.starts[here], self.stops[here], repeated)
            number = self._cut(text, *pieces)
            self._with_repeated[text, repeated] = number
        return self._pieces(number)

    def knows(self, texts: Iterable[str]) -> bool:
        """Whether it has already cut at least half of some texts, by their characters."""
        known = total = 0
        for text in texts:
            total += len(text)
            known += len(text) if key_of(text) in self._known else 0
        return 0 < known >= measured.KNOWN_SHARE * total

    def rest(self) -> None:
        """Release the texts; the pieces are kept of those that were cut as they are."""
        if self._with_repeated:
            self._forget(min(self._with_repeated.values()))
        self._known |= {key_of(text): number for text, number in self._numbers.items()}
        self._numbers.clear()

    def _forget(self, number: int) -> None:
        """Forget a text and those that were cut after it."""
        first = self._firsts[number]
        for pieces in (self.starts, self.stops, self.fails, self.same, self._hashes):
            del pieces[first:]
        del self.words[self.ends[first] :], self.ends[first + 1 :], self._firsts[number + 1 :]
        self._matched = min(self._matched, first)
        self._numbers = {text: at for text, at in self._numbers.items() if at < number}
        self._with_repeated.clear()

    def match(self) -> None:
        """Look for the first piece with the same text in all texts, if there are new ones.

        Hashes in order need a tenth of the memory of a dict.
        """
        hashes, same, first = self._hashes, self.same, 0
        whole = self._firsts[min(self._with_repeated.values(), default=-1)]
        if self._matched < whole:
            self._matched = whole
            for piece in sorted(range(whole), key=hashes.__getitem__):  # equal ones stay in order
                if hashes[piece] == hashes[first]:
                    same[piece] = first
                else:
                    first = piece
        later = {hashes[piece]: piece for piece in range(len(hashes) - 1, whole - 1, -1)}
        later |= {hashes[piece]: same[piece] for piece in range(whole) if hashes[piece] in later}
        for piece in range(whole, len(hashes)):
            same[piece] = later[hashes[piece]]

    def words_of(self, pieces: range) -> "array[int]":
        """The evidence words of neighbouring pieces, by number."""
        return self.words[self.ends[pieces.start] : self.ends[pieces.stop]]

    def _cut(self, text: str, starts: "array[int]", stops: "array[int]") -> int:
        """Add the pieces of a text, and return its number."""
        fails = bytearray(len(starts))
        for start, stop in failures_in(text):
            for piece in range(bisect(stops, start), bisect_left(starts, stop)):
                fails[piece] = 1
        for words in self.numbering.numbers_of(text, zip(starts, stops, strict=True)):
            self.words.extend(words)
            self.ends.append(len(self.words))
        first_with: dict[int, int] = {}
        for piece, (start, stop) in enumerate(zip(starts, stops, strict=True), len(self.starts)):
            self._hashes.append(of_text := hash(text[start:stop]))
            self.same.append(first_with.setdefault(of_text, piece))
        self.starts.extend(starts)
        self.stops.extend(stops)
        self.fails.extend(fails)
        self._firsts.append(len(self.starts))
        return len(self._firsts) - 2


_kept: list[Cutter] = []
"""The cutters that were given back last. Threads may share this list; each gets its own cutter."""


def cutter_for(texts: Sequence[str], *, prose: bool = False, known: Names = NO_NAMES) -> Cutter:
    """The cutter for the texts of a conversation: a kept cutter that knows them, else a new one."""
    for cutter in reversed(_kept[:]):
        same = cutter.prose == prose and cutter.known.all == known.all
        if same and cutter.knows(texts):
            with suppress(ValueError):  # another thread has just taken it
                _kept.remove(cutter)
                return cutter
    return Cutter(prose=prose, known=known)


def keep(cutter: Cutter) -> None:
    """Keep a cutter for the next compression, or clear it if it has grown too large."""
    cutter.rest()
    if max(len(cutter.starts), len(cutter.numbering)) > measured.MOST_KEPT:
        cutter.clear()
    elif cutter.starts:
        _kept.append(cutter)
        del _kept[: -measured.KEPT_CUTTERS]


def spans(text: str) -> tuple["array[int]", "array[int]"]:
    """The starts and ends of a text's pieces, which are lines.

    Short neighbouring lines are joined, and long lines are divided. Lines are not joined across a
    blank line, nor to a line that begins a new part (`HEADS`). Together the pieces hold every
    character except the newlines between them.
    """
    starts, stops = array("I"), array("I")
    start = 0
    first = last = -2  # the span of the last piece, which the next line may join
    usual = measured.PIECE_CHARS
    while start < len(text):
        stop = text.find("\n", start)
        stop = len(text) if stop < 0 else stop
        joins = last == start - 1 and start < stop <= first + usual
        if joins and not text.startswith(HEADS, start):
            stops[-1] = last = stop
        elif start < stop:
            for first, last in _parts(text, start, stop):
                starts.append(first)
                stops.append(last)
        start = stop + 1
    return starts, stops


def divided(
    text: str, starts: "array[int]", stops: "array[int]", repeated: Sequence[Span]
) -> tuple["array[int]", "array[int]"]:
    """The starts and ends of a text's pieces, where each of some spans is a piece of its own.

    A long span is divided as a long line is, wherever it stands.
    """
    parts = [*chain.from_iterable(_parts(text, start, stop) for start, stop in repeated)]
    ends = [0, *chain.from_iterable(repeated), len(text)]
    for first, last in zip(ends[::2], ends[1::2], strict=True):  # what is between the spans
        pieces = range(bisect(stops, first), bisect_left(starts, last)) if first < last else ()
        parts.extend((max(first, starts[at]), min(last, stops[at])) for at in pieces)
    parts.sort()
    return array("I", [start for start, _ in parts]), array("I", [stop for _, stop in parts])


def _parts(text: str, start: int, stop: int) -> Iterator[Span]:
    """The parts of a line, the longest of which has `LONGEST_PIECE_CHARS` characters."""
    while stop - start > measured.LONGEST_PIECE_CHARS:
        cut = _break(text, start)
        yield start, cut
        start = cut
    yield start, stop


def _break(text: str, start: int) -> int:
    """The place to divide a long line whose remaining part begins at `start`.

    It is the end of a part, else before a blank, else after a separator, else after
    `LONGEST_PIECE_CHARS` characters.
    """
    stop = start + measured.LONGEST_PIECE_CHARS
    if ends := PART_ENDS.search(text, start + measured.PIECE_CHARS, stop):
        return ends.end()
    middle = start + measured.LONGEST_PIECE_CHARS // 2
    blank = text.rfind(" ", middle, stop)
    if blank >= 0:
        return blank
    return max(text.rfind(sign, middle, stop) for sign in SEPARATORS) + 1 or stop


FAILURE, REASON, OUTDATED, FAILED, DUE, REPEATED = 1, 2, 4, 8, 16, 32
"""The signs of a piece. `FAILURE`: it mentions failures. `REASON`: it states a decision.
`OUTDATED`: it was replaced later. `FAILED`: it says why a call failed, or gives numbers of tests.
`DUE`: it holds an open task. `REPEATED`: it is a sentence that other texts repeat."""
BONUSES: Mapping[int, float] = {
    FAILED: measured.FAILED_BONUS, FAILURE: measured.ERROR_BONUS,
    REASON: measured.REASON_BONUS, DUE: measured.DUE_BONUS,
}  # fmt: skip
"""The worth that a sign adds to a piece."""


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
        typed: whether the user said it.
        repeated: the spans of sentences that other texts repeat; each is a piece of its own.
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
    typed: bool = False
    repeated: tuple[Span, ...] = ()


Place: TypeAlias = tuple[int, int, int]
"""`(source, start, stop)`: the number of a source in its pool, and a span of its characters."""


Weights: TypeAlias = "array[float] | dict[int, float]"
"""The worth of each word, by its number."""


class Pool:
    """All pieces that compete for one view, numbered in the order of their sources.

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
        self._seen_in = bytearray()  # for each word the number of its messages, at most `MANY`
        self._message, self._words = -1, set[int]()  # the last message, and its words

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

    def add(self, source: Source, outdated: Iterable[Span] = (), due: Iterable[Span] = ()) -> None:
        """Cut a source into pieces and add them.

        Args:
            source: the text.
            outdated: the spans of its outdated parts.
            due: the spans of open tasks in it.
        """
        pieces = self._pieces_of(source)
        self.shifts.append(pieces.start - len(self))
        self.per_char.append(source.tokens / max(1, len(source.text)))
        self.source_of.extend([len(self.sources)] * len(pieces))
        self.firsts.append(len(self))
        self.signs.extend(self._signs_of(source, pieces, outdated, due))
        if pieces:
            self.edges.extend(bytes(len(pieces)))
            self.edges[len(self) - len(pieces)] += 1
            self.edges[-1] += 1
        self.sources.append(source)
        self.gap_tokens.append(gap_tokens(source.text, explicit=source.key == source.text))
        if source.message != self._message:
            if self._words:
                self._count()
            self._message = source.message
        self._words.update(self.cutter.words_of(pieces))

    def _pieces_of(self, source: Source) -> range:
        """The pieces of a source that compete, by the cutter's numbers."""
        cutter, pieces = self.cutter, self.cutter(source.text, source.repeated)
        if source.start:
            first = bisect(cutter.stops, source.start, pieces.start, pieces.stop)
            pieces = range(first, pieces.stop)
        if source.end is not None:
            end = bisect_left(cutter.starts, source.end, pieces.start, pieces.stop)
            pieces = range(pieces.start, end)
        return pieces

    def _signs_of(
        self, source: Source, pieces: range, outdated: Iterable[Span], due: Iterable[Span]
    ) -> bytearray:
        """The signs of each piece; an outdated piece is not due."""
        here = slice(pieces.start, pieces.stop)
        starts, stops = self.cutter.starts[here], self.cutter.stops[here]
        signs = self.cutter.fails[here]

        def within(span: Span) -> range:
            """The pieces that a span overlaps, counted from the first piece of the source."""
            return range(bisect(stops, span[0]), bisect_left(starts, span[1]))

        if source.failed:
            failures = (at for at, fails in enumerate(signs) if fails)
            for at in islice(failures, measured.FIRST_FAILURES):
                signs[at] |= FAILED
        printed = not source.key and not source.spoken
        if printed and (tests := evidence.count_of_tests(source.text)):
            for at in within(tests):
                signs[at] |= FAILED
        reasons = evidence.decision_words(source.text) if source.spoken else ()
        said = [
            range(bisect_left(reasons, begin), bisect_left(reasons, end))
            for begin, end in source.spoken
        ]
        for word in chain.from_iterable(said):
            for at in within((reasons[word], reasons[word] + 1)):
                signs[at] |= REASON
        for span in due:
            for at in within(span):
                signs[at] |= DUE
        for span in source.repeated:
            for at in within(span):
                signs[at] |= REPEATED
        for replaced in outdated:
            for at in within(replaced):
                signs[at] = signs[at] & ~DUE | OUTDATED
        return signs

    def _count(self) -> None:
        """Count the words of the last message as seen in one more message."""
        seen_in, most = self._seen_in, measured.MANY
        seen_in.extend(bytes(len(self.cutter.numbering) - len(seen_in)))
        for number in self._words:
            if seen_in[number] < most:
                seen_in[number] += 1
        self._words.clear()

    def choice(
        self, shown: Iterable[int], used: Sequence[int], whole: Iterable[int] = ()
    ) -> "Choice":
        """A choice among the pieces.

        Args:
            shown: the evidence words that are already in view, by number.
            used: for each word, by number, not 0 if it was spoken or passed to a tool.
            whole: the pieces of texts that are in view whole, by the cutter's numbers; what they
                say is worth nothing more elsewhere.
        """
        return Choice(self, shown, self.weights(used), map(self.cutter.same.__getitem__, whole))

    def weights(self, used: Sequence[int]) -> Weights:
        """The worth of each word, by its kind, the number of its messages, and whether it was used.

        Words after the last of `used`, which is the same as for `choice`, are not used.
        """
        kinds, known = self.cutter.numbering.kinds, len(used)
        if not self._seen_in:  # a single message holds only few of all words
            return {n: WEIGHTS[kinds[n], 1, n < known and used[n]] for n in self._words}
        self._count()
        keys = zip(kinds, self._seen_in, chain(used, bytes(len(kinds) - known)), strict=True)
        return array("f", map(WEIGHTS.__getitem__, keys))


def ranking(
    pool: Pool,
    opening: "array[int]",
    closed: bytearray,
    worth_now: Callable[[int], float],
    is_said: Container[int],
) -> tuple[Callable[[int], int], Iterator[int]]:
    """A function that gives the current rank of a piece, and the ranks of all pieces in order.

    A smaller rank is better. The lower 32 bits of a rank hold the piece; of pieces with equal worth
    the newest comes first.

    Args:
        pool: the pieces.
        opening: for each source, the tokens it costs to show any more of it.
        closed: for each piece, on how many of its sides no text is missing.
        worth_now: takes the number of a word and returns its current worth.
        is_said: the first pieces of the texts that are shown; a text is worth its words only once.
    """
    # closures over locals, because attributes would be slower for tens of thousands of pieces
    source_of, shifts, per_char = pool.source_of, pool.shifts, pool.per_char
    always = array("d", [source.worth for source in pool.sources])
    weights = array("d", [source.weight for source in pool.sources])
    rates = array("d", [source.per_token for source in pool.sources])
    cutter, sides, placed = pool.cutter, measured.SIDES_TOKENS, _placing(pool)
    starts, stops, words, ends = cutter.starts, cutter.stops, cutter.words, cutter.ends
    same = cutter.same

    def rank(piece: int) -> int:
        source = source_of[piece]
        number = piece + shifts[source]
        worth = sum(map(worth_now, words[ends[number] : ends[number + 1]]))
        tokens = (stops[number] - starts[number]) * per_char[source]
        if fresh := same[number] not in is_said:
            worth += always[source] + rates[source] * tokens
        cost = tokens + sides[closed[piece]] + opening[source]
        return placed(piece, worth, weights[source], cost, fresh)

    def ranks() -> Iterator[int]:
        """The ranks of all pieces, source by source, which is faster than one by one."""
        for source, (first, stop) in enumerate(pairwise(pool.firsts)):
            shift, each, opens = shifts[source], per_char[source], opening[source]
            worth, weight = always[source], weights[source]
            here = slice(first + shift, stop + shift)
            around = ends[here.start : here.stop + 1]
            held = words[around[0] : around[-1]]
            sums = [*accumulate(map(worth_now, held), initial=0.0)]
            until = [sums[end - around[0]] for end in around]
            worths = map(sub, islice(until, 1, None), until)
            chars = map(sub, stops[here], starts[here])
            pieces = zip(range(first, stop), worths, chars, same[here], strict=True)
            for piece, new, size, text in pieces:
                cost = size * each + sides[closed[piece]] + opens
                if fresh := text not in is_said:
                    new += worth + rates[source] * size * each
                yield placed(piece, new, weight, cost, fresh)

    return rank, ranks()


def _placing(pool: Pool) -> Callable[[int, float, float, float, bool], int]:
    """A function that gives a piece's rank.

    It takes the piece, its worth, its source's weight, its cost, and whether its text is not yet
    shown: only then its signs count.
    """
    signs, most = pool.signs, measured.MOST_WORTH
    outdated, repeated = measured.OUTDATED_WEIGHT, measured.REPEATED_WEIGHT
    bonus = [
        sum(each for sign, each in BONUSES.items() if added & sign) for added in range(2 * REPEATED)
    ]
    filler = measured.FILLER / max(1, len(pool))

    def placed(piece: int, worth: float, weight: float, cost: float, fresh: bool) -> int:
        if of_piece := signs[piece]:
            worth += bonus[of_piece] * fresh
            if of_piece & OUTDATED:
                worth *= outdated
            if of_piece & REPEATED:
                worth *= repeated
        ratio = worth * weight / cost + filler * (piece + 1)
        return -((int((ratio if ratio < most else most) * SCALE) << 32) + piece)

    return placed


def piece_of(rank: int) -> int:
    """The piece to which a rank belongs."""
    return -rank & 0xFFFFFFFF


def worth_per_token(rank: int) -> float:
    """The worth of a token of the piece to which a rank belongs."""
    return (-rank >> 32) / SCALE


def word_weights() -> Mapping[tuple[int, int, int], float]:
    """The worth of a word by `(number of its kind, number of its messages, whether it is used)`.

    A word that is in no piece is worth nothing.
    """
    most = measured.MANY
    times = [0.0, *(0.5 + 0.5 * messages for messages in range(1, most + 1))]
    in_code = {
        (kind, messages, used): (
            measured.KIND_WEIGHT[name] * times[messages] * (measured.USED if used else 1.0)
        )
        for kind, name in enumerate(KINDS)
        for messages in range(most + 1)
        for used in range(2)
    }
    in_prose = {
        (kind, messages, used): measured.PROSE_WEIGHT[name] if messages else 0.0
        for kind, name in enumerate(PROSE_KINDS, len(KINDS))
        for messages in range(most + 1)
        for used in range(2)
    }
    return in_code | in_prose


WEIGHTS = word_weights()


def known_in(weights: Weights) -> Container[int]:
    """The numbers of the words that have a worth; others are in no piece."""
    return weights if isinstance(weights, dict) else range(len(weights))


def cover(weights: Weights, words: Iterable[int]) -> None:
    """Set the worth of words to 0, because they are in view now."""
    known = known_in(weights)
    for number in words:
        if number in known:
            weights[number] = 0.0


LAST = (1 << 63) - 1
"""A number after all ranks."""
SCALE = 1e6
"""The scale of the worth per token in a rank."""


class Choice:
    """The pieces that were chosen so far, and the pieces that still compete.

    Attributes:
        taken: the ranks of the chosen pieces when they were chosen, in this order.
    """

    def __init__(
        self, pool: Pool, shown: Iterable[int], weights: Weights, said: Iterable[int]
    ) -> None:
        """A choice without chosen pieces.

        Args:
            pool: the pieces.
            shown: the evidence words that are already in view, by number.
            weights: the worth of each word; the worth of words in view becomes 0.
            said: the first pieces of the texts that are already in view.
        """
        self._pool = pool
        self._worth_now = weights
        cover(weights, shown)
        self._opening = array("I", [source.opening for source in pool.sources])
        self.taken = array("q")
        self._is_taken = bytearray(len(pool))
        self._closed = pool.edges[:]  # for each piece, on how many sides nothing is missing
        self._said = {*said}  # and the first pieces of the texts that were chosen
        self._rank, ranks = self._ranking()
        # the first ranks of all pieces in order, and as a heap those of pieces ranked again
        self._ranked = ascending(ranks)
        self._ranked.append(LAST)
        self._put_back = array("q", [LAST])

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
            if self._is_taken[piece]:
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
            self.taken.append(now)
            for neighbour in self._taking(piece):
                heappush(put_back, rank_now(neighbour))
        del ranked[:at]
        put_back.extend(too_large)
        heapify(put_back)
        self._put_back = array("q", put_back)
        return chosen

    def left(self) -> Iterator[int]:
        """The present ranks of the pieces that were never chosen, in no order."""
        _, ranks = self._ranking()
        return (rank for rank in ranks if not self._is_taken[piece_of(rank)])

    def _ranking(self) -> tuple[Callable[[int], int], Iterator[int]]:
        worth_now = self._worth_now.__getitem__
        return ranking(self._pool, self._opening, self._closed, worth_now, self._said)

    def _taking(self, piece: int) -> Iterator[int]:
        """Take a piece, and yield its neighbours that are not taken."""
        source_of, taken = self._pool.source_of, self._is_taken
        taken[piece] = 1
        self._opening[source_of[piece]] = 0
        self._said.add(self._pool.cutter.same[piece + self._pool.shifts[source_of[piece]]])
        cover(self._worth_now, self._pool.words(piece))
        for neighbour in (piece - 1, piece + 1):
            if 0 <= neighbour < len(taken) and source_of[neighbour] == source_of[piece]:
                self._closed[neighbour] += 1
                if not taken[neighbour]:
                    yield neighbour

    def _cost(self, piece: int) -> float:
        """About how many tokens it takes to show a piece and the marks of gaps next to it."""
        source = self._pool.source_of[piece]
        opening = self._opening[source]
        gaps = (2 if opening else 1) - self._closed[piece]
        marks = self._pool.gap_tokens[source] * gaps
        return max(0.0, self._pool.tokens(piece) + marks + opening)


def ascending(ranks: Iterator[int]) -> "array[int]":
    """The ranks in order; sorted in parts, because so many objects would need too much memory."""
    parts: list[array[int]] = []
    while part := sorted(islice(ranks, measured.SORTED_AT_ONCE)):
        parts.append(array("q", part))
    return parts[0] if len(parts) == 1 else array("q", merge(*parts))
