"""Archived text in pages, each named by a cursor.

Pages are cut by characters, so that one very long line has pages too. The joined pages are exactly
the text. Archived text may contain anything, even planted instructions. So `display.fences` quotes
each page in a way that the text cannot end.
"""

import re
from dataclasses import dataclass
from hashlib import sha256

from mcp.server.mcpserver.exceptions import ToolError

from context_compression.display.plurals import how_many

PAGE = 8_000
"""Characters of one page."""

_CURSOR = re.compile(r"(\d{1,12})-([0-9a-f]{8})")


@dataclass(frozen=True)
class Page:
    """A part of a text: `text[start:stop]`."""

    text: str
    start: int
    stop: int
    total: int
    cursor: str | None
    """names the next page; `None` on the last one"""

    @property
    def range(self) -> str:
        """`"characters 8,001-16,000 of 20,000"`, `"all 312 characters"`."""
        if self.stop - self.start == self.total:
            return f"all {how_many(self.total, 'character')}"
        return f"characters {self.start + 1:,}-{self.stop:,} of {self.total:,}"


def page(text: str, key: str, cursor: str | None = None, size: int = PAGE) -> Page:
    """The first page of a text, or the page that a cursor names.

    Args:
        text: the full text.
        key: identifies the text, so that a cursor fits only the text it was made for.
        cursor: from the header of the page before.
        size: characters of the page; the cursor to the next one fits any size.

    Raises:
        ToolError: the cursor does not belong to this text.
    """
    start = 0 if cursor is None else _start(cursor, key, len(text))
    stop = min(start + size, len(text))
    following = f"{stop}-{_mark(key)}" if stop < len(text) else None
    return Page(text[start:stop], start, stop, len(text), following)


def _start(cursor: str, key: str, length: int) -> int:
    match = _CURSOR.fullmatch(cursor)
    if match is None or match[2] != _mark(key) or not 0 < int(match[1]) < length:
        raise ToolError(
            f"The cursor {cursor[:40]!r} does not belong to this text. Pass the cursor from the "
            "header of the page before, with the same ref, lines and pattern; or pass no cursor, "
            "to begin with the first page."
        )
    return int(match[1])


def _mark(key: str) -> str:
    return sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:8]
