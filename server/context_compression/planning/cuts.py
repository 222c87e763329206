"""Texts cut into pieces, each with its evidence; each text is cut only once.

A conversation is compressed again and again as it grows, so the last cutters are kept.
"""

import re
from array import array
from bisect import bisect, bisect_left
from collections.abc import Iterable, Sequence
from contextlib import suppress

from context_compression.evidence.facts import ERROR_WORDS, lines_with
from context_compression.evidence.words import Numbering
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
    """

    def __init__(self, *, prose: bool = False) -> None:
        """A cutter without texts; with `prose`, plain words are evidence too."""
        self.prose = prose
        self.clear()

    def clear(self) -> None:
        """Forget all texts and words."""
        self.numbering = Numbering(prose=self.prose)
        self.starts, self.stops = array("I"), array("I")
        self.words, self.ends = array("I"), array("I", [0])
        self.fails = bytearray()
        self._numbers: dict[str, int] = {}  # the number of each text of this compression
        self._known: dict[int, int] = {}  # those of texts of earlier compressions, by their keys
        self._firsts = array("I", [0])  # the first piece of each text, then the number of pieces

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
        """Whether it has already cut at least half of some texts, by their characters."""
        known = total = 0
        for text in texts:
            total += len(text)
            known += len(text) if key_of(text) in self._known else 0
        return 0 < known >= measured.KNOWN_SHARE * total

    def rest(self) -> None:
        """Release the texts; their pieces are kept."""
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
"""The cutters that were given back last. Threads may share this list; each gets its own cutter."""


def cutter_for(texts: Sequence[str], *, prose: bool = False) -> Cutter:
    """The cutter for the texts of a conversation: a kept cutter that knows them, else a new one."""
    for cutter in reversed(_kept[:]):
        if cutter.prose == prose and cutter.knows(texts):
            with suppress(ValueError):  # another thread has just taken it
                _kept.remove(cutter)
                return cutter
    return Cutter(prose=prose)


def keep(cutter: Cutter) -> None:
    """Keep a cutter for the next compression, or clear it if it has grown too large."""
    if max(len(cutter.starts), len(cutter.numbering)) > measured.MOST_KEPT:
        cutter.clear()
    elif cutter.starts:
        cutter.rest()
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
