"""What a finder yields: where a secret stands in a text, and what kind it is."""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

BLANK = r"(?:[\s\\]|(?<=\n)[ \t]{0,9}\d{1,6}[ ]?[→\t:|]|(?<=\n)[-+>])"
"""What stands between words: the end of a line may be one of JSON, and the next line numbered, or
one of a diff or a quote."""


class Secret(NamedTuple):
    """A secret: characters `start` to `stop` of a text, `stop` exclusive."""

    start: int
    stop: int
    kind: str


@cache
def compiled(shape: str) -> re.Pattern[str]:
    """An expression, when it is needed first: most of them never are, and all take their time."""
    return re.compile(shape)


def each(shape: re.Pattern[str], part: str, text: str) -> Iterator[re.Match[str]]:
    """Where a shape stands that begins with `part`: to look for a part first is fast."""
    at = text.find(part)
    while at >= 0:
        found = shape.match(text, at)
        if found:
            yield found
        at = text.find(part, found.end() if found else at + 1)


def parts_in(text: str, *parts: str) -> Iterator[str]:
    """Those of some parts that stand in a text."""
    return (part for part in parts if part in text)
