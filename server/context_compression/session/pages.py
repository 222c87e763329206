"""Pages of a text: whole lines, and together exactly the text."""

import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Protocol

from context_compression.errors import StoreError
from context_compression.plurals import how_many

PAGE = 8_000
"""The most characters of one page of a text."""
NEAR_END = 200
"""A line that is longer than a page is cut between words in so many of the page's characters."""

_CURSOR = re.compile(r"(\d{1,12})-([0-9a-f]{8})")


class PageStart(Protocol):
    """Where a page begins: `start` characters of the text are skipped, or a cursor names it."""

    @property
    def start(self) -> int:
        """How many characters are skipped."""
        ...

    @property
    def cursor(self) -> str | None:
        """From the page before."""
        ...


@dataclass(frozen=True)
class TextPage:
    """A part of a text: `text[start:stop]`.

    Attributes:
        cursor: names the next page; `None` on the last one.
        within_line: whether it ends within a line, which is longer than a page.
    """

    text: str
    start: int
    stop: int
    total: int
    cursor: str | None
    within_line: bool = False

    @property
    def range(self) -> str:
        """`"characters 8,001-16,000 of 20,000"`, `"all 312 characters"`."""
        if self.stop - self.start == self.total:
            return f"all {how_many(self.total, 'character')}"
        return f"characters {self.start + 1:,}-{self.stop:,} of {self.total:,}"


def page(text: str, key: str, asked: PageStart | None, size: int = PAGE) -> TextPage:
    """The first page of a text, or the one that a start or cursor names.

    A page holds whole lines: it ends behind a line, and a start within a line is moved to where the
    line begins. Only a line longer than a page is cut, behind a space or comma if there is one near
    the end of the page. The joined pages are exactly the text.

    Args:
        text: the full text.
        key: identifies the text, so that a cursor fits only the text it was made for.
        asked: names the page; `None` is the first one.
        size: the most characters of the page.

    Raises:
        StoreError: the cursor does not belong to this text, or the start is past its end.
    """
    cursor = asked.cursor if asked else None
    given = asked.start if asked else 0
    start = max(0, given) if cursor is None else _start(cursor, key, len(text))
    if start >= max(1, len(text)):
        raise StoreError(
            f"start={start} is past the end: there are {how_many(len(text), 'character')}."
        )
    begin, end = _line_at(text, start, size)
    start = begin if end - begin <= size else start
    stop, within = min(start + size, len(text)), False
    if stop < len(text) and text[stop - 1] != "\n":
        begin, end = _line_at(text, stop, size)
        within = end - begin > size
        stop = _between_words(text, max(start, begin), stop) if within else begin
    following = f"{stop}-{_mark(key)}" if stop < len(text) else None
    return TextPage(text[start:stop], start, stop, len(text), following, within)


def beginning(text: str, size: int) -> TextPage:
    """The first page of a text that is shown without a cursor."""
    return page(text, "", None, size)


def _line_at(text: str, place: int, size: int) -> tuple[int, int]:
    """Where the line begins that holds a place, and where it ends, behind its line break.

    Only `size` characters before and behind are looked at, so that all pages of a long line take
    linear time: of a line that is longer than `size`, a part that is longer, too.
    """
    least, most = max(0, place - size), min(len(text), place + size)
    begin, end = text.rfind("\n", least, place), text.find("\n", place, most)
    return least if begin < 0 else begin + 1, min(len(text), most + 1) if end < 0 else end + 1


def _between_words(text: str, start: int, stop: int) -> int:
    """The place behind the last space, else behind the last comma, near the end of a part."""
    least = max(start, stop - NEAR_END)
    for signs in (" \t", ",;，；。、"):
        if (last := max(text.rfind(sign, least, stop) for sign in signs)) >= 0:
            return last + 1
    return stop


def _start(cursor: str, key: str, length: int) -> int:
    match = _CURSOR.fullmatch(cursor)
    if match is None or match[2] != _mark(key) or not 0 < int(match[1]) < length:
        raise StoreError(
            f"The cursor {cursor[:40]!r} does not belong to this text. Pass the cursor from the "
            "header of the page before, with the same ref, lines and pattern; or pass no cursor, "
            "to begin with the first page."
        )
    return int(match[1])


def _mark(key: str) -> str:
    return sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:8]
