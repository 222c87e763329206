"""Fences around quoted text that the text cannot close, even with look-alike characters."""

import re

from context_compression.display.lookalikes import ANGLES, folded, is_plain, unhidden

OPENS = re.compile(f"[{ANGLES}]")
TICKS = re.compile("[`\u02cb\uff40]+")
LABEL = "quoted from the archive"
NEAR = 200
"""How many visible characters after a `<` are searched for the name of a tag."""
FAR = 100 * NEAR
"""The same, counting invisible characters."""


def fence_for(text: str) -> str:
    """A row of backticks that is longer than any in the text, at least three."""
    text = text if is_plain(text) else unhidden(text)
    return "`" * max(3, 1 + max(map(len, TICKS.findall(text)), default=0))


def fenced(text: str) -> str:
    """The text and one newline between lines with more backticks than the text has in a row."""
    fence = fence_for(text)
    return f"{fence}text {LABEL}\n{text}\n{fence}"


def sealed(text: str, tag: str) -> str:
    r"""A text that cannot close the tag around it: `</quote>` -> `<\/quote>`."""
    closes = re.compile(rf"<\s*/\s*{re.escape(tag)}")

    def settle(match: re.Match[str]) -> str:
        near = text[match.start() : match.start() + NEAR]
        if not is_plain(near):
            near = unhidden(text[match.start() : match.start() + FAR])[:NEAR]
        return f"{match[0]}\\" if closes.match(folded(near)) else match[0]

    return OPENS.sub(settle, text)
