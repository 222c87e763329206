r"""Texts in which codes stand for signs, or colours between them, as they are read.

`%3D`, `&#61;` and `\u003d` are `=`; `ESC[31m` is nothing. What is found in the text as it is read
is put back to where it stands.
"""

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator

CODE = re.compile(
    r"[\x1b\\&%\u00ad\u200b-\u200f\u2060\ufeff]"  # its first sign, which is searched for fast
    r"(?:(?<=[\x1b\\])(?:\\{0,31}(?:[uU]001[bB]|x1[bB]|033|e))?\[[0-9;:?]{0,40}[A-Za-z]"
    r"|(?<=\\)\\{0,31}(?:[uU](?P<json>00[2-7][0-9a-fA-F]|201[0-9a-fA-F])|(?P<slash>/))"
    r"|(?<=&)(?:amp;){0,9}+(?:(?P<name>quot|apos|amp|lt|gt)"
    r"|#(?P<number>\d{2,3})|#[xX](?P<hex>[2-7][0-9a-fA-F]));"
    r"|(?<=%)(?:25){0,9}+(?P<percent>[2-7][0-9a-fA-F])"
    r"|(?<=\x1b)(?:\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\)|[()][A-Z0-9])"
    r"|(?<=[\u00ad\u200b-\u200f\u2060\ufeff]))"
)
"""A code: of colours and of signs that are not seen, in JSON, in HTML, in an address."""
NAMES = {"quot": '"', "apos": "'", "amp": "&", "lt": "<", "gt": ">"}


class Reading:
    """Those lines of a text that hold a code, as they are read.

    Attributes:
        text: the lines without their codes; empty if there are none.
    """

    def __init__(self, text: str) -> None:
        # of each piece: where it begins as read, and where it stands; where a code ends, else 0
        self._starts, self._places, self._ends = array("Q"), array("Q"), array("Q")
        self._length = 0
        self._shown: list[str] = []
        for start, stop in _coded_lines(text):
            at = start
            for code in CODE.finditer(text, start, stop):
                self._add(text[at : code.start()], at)
                self._add(_sign(code), code.start(), code.end())
                at = code.end()
            self._add(text[at:stop], at)
        self.text = "".join(self._shown)

    def place(self, start: int, stop: int) -> tuple[int, int]:
        """Where in the text stands what is read from `start` to `stop`."""
        first, last = self._piece(start), self._piece(stop - 1)
        end = self._ends[last] or self._places[last] + stop - self._starts[last]
        begins = self._places[first]
        return begins if self._ends[first] else begins + start - self._starts[first], end

    def _piece(self, at: int) -> int:
        return bisect_right(self._starts, at) - 1

    def _add(self, shown: str, place: int, end: int = 0) -> None:
        if shown:
            self._starts.append(self._length)
            self._places.append(place)
            self._ends.append(end)
            self._shown.append(shown)
            self._length += len(shown)


def _coded_lines(text: str) -> Iterator[tuple[int, int]]:
    """Where the lines stand that hold a code; all of a text with a private key, which has many."""
    start = stop = 0
    whole = "PRIVATE" in text or "Private-Lines" in text
    for code in CODE.finditer(text):
        if whole:
            yield 0, len(text)
            return
        if code.start() >= stop:
            if stop:
                yield start, stop
            start = text.rfind("\n", 0, code.start()) + 1
            stop = text.find("\n", code.end()) + 1 or len(text)
    if stop:
        yield start, stop


def _sign(code: re.Match[str]) -> str:
    """What a code stands for: a sign, or nothing."""
    if code["name"]:
        return NAMES[code["name"]]
    if code["number"]:
        return chr(int(code["number"]))
    figure = code["json"] or code["hex"] or code["percent"]
    return chr(int(figure, 16)) if figure else code["slash"] or ""
