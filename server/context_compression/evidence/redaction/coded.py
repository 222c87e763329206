r"""Decodes texts with escaped characters or colour codes, so that secrets in them are found.

`%3D`, `&#61;` and `\u003d` become `=`; `ESC[31m` is removed. Places in the decoded text are mapped
back to the original.
"""

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator

CODE = re.compile(
    r"[\x1b\\&%\u00ad\u200b-\u200f\u2060\ufeff]"  # the first character, for a fast search
    r"(?:(?<=[\x1b\\])(?:\\{0,31}(?:[uU]001[bB]|x1[bB]|033|e))?\[[0-9;:?]{0,40}[A-Za-z]"
    r"|(?<=\\)\\{0,31}(?:[uU](?P<json>00[2-7][0-9a-fA-F]|201[0-9a-fA-F])|(?P<slash>/))"
    r"|(?<=&)(?:amp;){0,9}+(?:(?P<name>quot|apos|amp|lt|gt)"
    r"|#(?P<number>\d{2,3})|#[xX](?P<hex>[2-7][0-9a-fA-F]));"
    r"|(?<=%)(?:25){0,9}+(?P<percent>[2-7][0-9a-fA-F])"
    r"|(?<=\x1b)(?:\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\)|[()][A-Z0-9])"
    r"|(?<=[\u00ad\u200b-\u200f\u2060\ufeff]))"
)
"""A code: a colour, an invisible character, or an escaped character in JSON, HTML or an address."""
NAMES = {"quot": '"', "apos": "'", "amp": "&", "lt": "<", "gt": ">"}


class DecodedLines:
    """The decoded form of the lines of a text that contain a code.

    Attributes:
        text: the decoded lines; empty if no line has a code.
    """

    def __init__(self, text: str) -> None:
        # for each piece: its start in the decoded text and in the original; a code's end, else 0
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
        """`(start, stop)` in the original of a span in the decoded text."""
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
    """`(start, stop)` of the lines with a code; of the complete text if it has a private key."""
    start = stop = 0
    all_of_it = "PRIVATE" in text or "Private-Lines" in text
    for code in CODE.finditer(text):
        if all_of_it:
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
    """The character that a code stands for, or `""`."""
    if code["name"]:
        return NAMES[code["name"]]
    if code["number"]:
        return chr(int(code["number"]))
    figure = code["json"] or code["hex"] or code["percent"]
    return chr(int(figure, 16)) if figure else code["slash"] or ""
