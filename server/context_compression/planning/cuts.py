"""Texts cut into pieces, each with the evidence it holds; done once for each text.

A conversation is compressed again and again as it grows, so what was cut for it last is kept.
"""

import re
from array import array
from bisect import bisect, bisect_left
from collections.abc import Iterable, Sequence
from contextlib import suppress

from context_compression.evidence.facts import ERROR_WORDS, lines_with
from context_compression.evidence.numbering import Numbering
from context_compression.planning import measured
from context_compression.tokens.remembered import key_of

HEADS = (
    "@@ ", "diff ", "#", "|", "def ", "class ", "func ", "function ", "export ", "FAIL", "===",
    "- [ ] ", "[Files", "[More names",
)  # fmt: skip
"""How a line begins with which something begins: a hunk, a file of a diff, a heading, a row of a
table, a definition, the report of a test, a box to tick; a line of files or names in a note of
ours."""
PART_ENDS = re.compile(
    r'(?:\\n)+|,\s?(?=["{])|(?<!\b[A-Z][a-z])(?<!\b[A-Z][a-z]{2})[.!?]\s|[。！？]'
)
"""Where a part of a long line ends: a line of a string in JSON, a member of it, a sentence, which
does not end behind `Mr.` or `Hon.` The first is taken that makes a piece of `PIECE_CHARS`."""
SEPARATORS = ',;"'
"""Behind these a line is divided where it has neither such an end nor a blank: no word goes on."""


class Cutter:
    """Cuts the texts of one conversation; a text that was cut before is remembered.

    The pieces of all texts lie in the same arrays: there are tens of thousands in a long session.

    Attributes:
        starts: where each piece begins in its text.
        stops: where each ends.
        words: the evidence words of all pieces, by number, piece after piece.
        ends: where in `words` those of the pieces before a piece end; one more than pieces.
        fails: 1 for a piece that speaks of a failure.
    """

    def __init__(self, *, prose: bool = False) -> None:
        """With `prose` plain words are evidence, too."""
        self.prose = prose
        self.clear()

    def clear(self) -> None:
        """Forget all texts and words."""
        self.numbering = Numbering(prose=self.prose)
        self.starts, self.stops = array("I"), array("I")
        self.words, self.ends = array("I"), array("I", [0])
        self.fails = bytearray()
        self._numbers: dict[str, int] = {}  # of each text of this compression, as they came
        self._known: dict[int, int] = {}  # of those of earlier ones, by their keys
        self._firsts = array("I", [0])  # of each text its first piece; one more than texts

    def __call__(self, text: str) -> range:
        """The pieces of a text, by number."""
        number = self._numbers.get(text)
        if number is None:
            number = self._known.get(key_of(text)) if self._known else None
            if number is None:
                number = len(self._firsts) - 1
                self._cut(text)
            self._numbers[text] = number
        return range(self._firsts[number], self._firsts[number + 1])

    def knows(self, texts: Iterable[str]) -> bool:
        """Whether it has cut half of some texts or more, by their characters."""
        known = total = 0
        for text in texts:
            total += len(text)
            known += len(text) if key_of(text) in self._known else 0
        return 0 < known >= measured.KNOWN_SHARE * total

    def rest(self) -> None:
        """Let go of the texts; what was cut of them stays known."""
        self._known |= {key_of(text): number for text, number in self._numbers.items()}
        self._numbers.clear()

    def words_of(self, pieces: range) -> "array[int]":
        """The evidence words of neighbouring pieces, by number."""
        return self.words[self.ends[pieces.start] : self.ends[pieces.stop]]

    def _cut(self, text: str) -> None:
        starts, stops = spans(text)
        fails = bytearray(len(starts))
        for start, stop in lines_with(text, ERROR_WORDS):
            for piece in range(bisect(stops, start), bisect_left(starts, stop)):
                fails[piece] = 1
        for words in self.numbering.numbers_of(text, zip(starts, stops, strict=True)):
            self.words.extend(words)
            self.ends.append(len(self.words))
        self.starts.extend(starts)
        self.stops.extend(stops)
        self.fails.extend(fails)
        self._firsts.append(len(self.starts))


_kept: list[Cutter] = []
"""Those given back last. Threads may meet here: one gets a cutter, the others another."""


def cutter_for(texts: Sequence[str], *, prose: bool = False) -> Cutter:
    """The cutter for the texts of a conversation: one that knows them, else a new one."""
    for cutter in reversed(_kept[:]):
        if cutter.prose == prose and cutter.knows(texts):
            with suppress(ValueError):  # another took it just now
                _kept.remove(cutter)
                return cutter
    return Cutter(prose=prose)


def keep(cutter: Cutter) -> None:
    """Take a cutter back, for the next compression; one that has grown large forgets all."""
    if max(len(cutter.starts), len(cutter.numbering)) > measured.MOST_KEPT:
        cutter.clear()
    elif cutter.starts:
        cutter.rest()
        _kept.append(cutter)
        del _kept[: -measured.KEPT_CUTTERS]


def spans(text: str) -> tuple["array[int]", "array[int]"]:
    """Where the pieces of a text begin and end: lines, short neighbours joined, long ones divided.

    Lines are not joined over a blank line, nor with one that begins something new (`HEADS`).
    Together the pieces hold every character but the newlines between them.
    """
    starts, stops = array("I"), array("I")
    start = 0
    first = last = -2  # of the piece before, which the next line may join
    usual, longest = measured.PIECE_CHARS, measured.LONGEST_PIECE_CHARS
    while start < len(text):
        stop = text.find("\n", start)
        stop = len(text) if stop < 0 else stop
        joins = last == start - 1 and start < stop <= first + usual
        if joins and not text.startswith(HEADS, start):
            stops[-1] = last = stop
        elif start < stop:
            while stop - start > longest:
                cut = _break(text, start)
                starts.append(start)
                stops.append(cut)
                start = cut
            starts.append(start)
            stops.append(stop)
            first, last = start, stop
        start = stop + 1
    return starts, stops


def _break(text: str, start: int) -> int:
    """Where a long line is divided that goes on at `start`: where a part ends, else before a blank.

    Else behind a separator, else after `LONGEST_PIECE_CHARS`.
    """
    stop = start + measured.LONGEST_PIECE_CHARS
    if ends := PART_ENDS.search(text, start + measured.PIECE_CHARS, stop):
        return ends.end()
    middle = start + measured.LONGEST_PIECE_CHARS // 2
    blank = text.rfind(" ", middle, stop)
    if blank >= 0:
        return blank
    return max(text.rfind(sign, middle, stop) for sign in SEPARATORS) + 1 or stop
