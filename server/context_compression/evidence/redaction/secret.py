"""`Secret`, which the finders yield, and helpers for their patterns."""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

BLANK = r"(?:[\s\\]|(?<=\n)[ \t]{0,9}\d{1,6}[ ]?[→\t:|]|(?<=\n)[-+>])"
"""A blank between words, also across lines. A line may end with an escaped line break and begin
with a number or the sign of a diff or quote."""


class Secret(NamedTuple):
    """A secret: characters `start` to `stop` of a text, `stop` exclusive."""

    start: int
    stop: int
    kind: str


@cache
def compiled(shape: str) -> re.Pattern[str]:
    """A compiled expression; it is compiled only when it is first needed."""
    return re.compile(shape)


def each(shape: re.Pattern[str], part: str, text: str) -> Iterator[re.Match[str]]:
    """The matches of a pattern that begins with `part`; a search for `part` first makes it fast."""
    at = text.find(part)
    while at >= 0:
        match = shape.match(text, at)
        if match:
            yield match
        at = text.find(part, match.end() if match else at + 1)


def parts_in(text: str, *parts: str) -> Iterator[str]:
    """The parts that occur in a text."""
    return (part for part in parts if part in text)
