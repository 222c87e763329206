"""Archived text on its way back, in pages; `fences` puts each where the text cannot close it.

What was archived may hold anything, also instructions somebody planted. So it is shown as quoted
data. Pages are cut by characters, so that one very long line pages too, and joined they give back
the very text.
"""

import re
from dataclasses import dataclass
from hashlib import sha256

from mcp.server.mcpserver.exceptions import ToolError

from context_compression.display.plurals import how_many

PAGE = 8_000
"""Characters of one page."""

_CURSOR = re.compile(r"(\d{1,12})-([0-9a-f]{8})")
_SURROGATE = re.compile("[\ud800-\udfff]")


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


def page(text: str, key: str, cursor: str | None = None) -> Page:
    """The first page of a text, or the one a cursor names.

    Args:
        text: the whole text.
        key: tells this text from all others, so that a cursor fits only the text it was made for.
        cursor: from the page before.

    Raises:
        ToolError: a cursor that is not of this text.
    """
    start = 0 if cursor is None else _start(cursor, key, len(text))
    stop = min(start + PAGE, len(text))
    following = f"{stop}-{_mark(key)}" if stop < len(text) else None
    return Page(text[start:stop], start, stop, len(text), following)


def sendable(text: str) -> str:
    r"""The text as UTF-8 can carry it: half a character (`\ud83d`), legal in JSON, is spelled out.

    `"a\ud83d"` -> `"a\\ud83d"`
    """
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _start(cursor: str, key: str, length: int) -> int:
    found = _CURSOR.fullmatch(cursor)
    if found is None or found[2] != _mark(key) or not 0 < int(found[1]) < length:
        raise ToolError(
            f"{cursor[:40]!r} is no cursor of this text. Pass the cursor from the header of the "
            "page before, with the same ref, lines and pattern; or none, to begin anew."
        )
    return int(found[1])


def _mark(key: str) -> str:
    return sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:8]
