"""An original as text: all of it, a range of lines, or the lines that match a pattern."""

from contextlib import suppress
from typing import Any

from context_compression.conversation.formats import parse
from context_compression.conversation.messages import Opaque, texts_of
from context_compression.conversation.refs import canonical
from context_compression.display.plurals import in_range
from context_compression.errors import ContextCompressionError, StoreError
from context_compression.store import Pattern

NO_LINE = "no line matches"


def as_text(original: Any) -> str:
    """An original as text: a text itself, or the JSON of a message."""
    return original if isinstance(original, str) else canonical(original)


def in_lines(original: Any) -> str:
    """An original as lines to select from: the lines of a text, or of all texts of a message.

    A block of unknown type is one line of JSON.
    """
    if isinstance(original, str):
        return original
    texts: list[str] = []
    with suppress(ContextCompressionError):
        for block in (block for message in parse([original]).messages for block in message.blocks):
            known = not isinstance(block, Opaque)
            texts += texts_of(block) if known else [canonical(block.source)]
    return "\n".join(texts) or canonical(original)


def select(text: str, lines: tuple[int, int] | None, pattern: str | None) -> str:
    r"""All of a text, a range of its lines, or the lines that match a pattern, with numbers.

    `select("a\nb\nc", (2, 3), None)` -> `"b\nc"`; `select("a\nb\nc", None, "b")` -> `"2: b"`

    Raises:
        StoreError: the range is impossible, or the pattern is invalid or takes too long.
    """
    if lines is None and pattern is None:
        return text
    numbered = list(enumerate(text.split("\n"), 1))
    if lines is not None:
        first, last = lines
        is_not = "is" if first == last else "are"
        wrong = "run backwards" if last < first else f"{is_not} not there"
        if first < 1 or last < first or first > len(numbered):
            requested, there = in_range("line", first, last), in_range("line", 1, len(numbered))
            raise StoreError(f"{requested} {wrong}; this has {there}.")
        numbered = numbered[first - 1 : last]
    if pattern is None:
        return "\n".join(line for _, line in numbered)
    regex = Pattern(pattern)
    matches = [f"{number}: {line}" for number, line in numbered if regex.is_in(line)]
    return "\n".join(matches) or NO_LINE
