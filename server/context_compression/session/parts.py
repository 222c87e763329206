"""Which part of an original is asked for: all of it, lines, matching lines, fields, or a count."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from context_compression.conversation.formats import parse
from context_compression.conversation.messages import Opaque, texts_of
from context_compression.conversation.refs import canonical
from context_compression.errors import ContextCompressionError, StoreError
from context_compression.plurals import how_many, in_range
from context_compression.store import Pattern

NO_LINE = "no line matches"


@dataclass(frozen=True)
class OriginalPart:
    """A part of an original.

    Attributes:
        text: what is shown of it.
        about: what fields were taken of; `""` without fields.
        values: the value of each field.
        counts: how many values each field has, or how many lines match: `{"lines": 3, "of": 10}`.
    """

    text: str
    about: str = ""
    values: Mapping[str, Any] | None = None
    counts: Mapping[str, int] | None = None

    @property
    def is_number(self) -> bool:
        """Whether it is a number of lines, and nothing of the original."""
        return self.counts is not None and not self.about


def part_of(
    original: Any,
    *,
    lines: tuple[int, int] | None = None,
    pattern: str | None = None,
    fields: str | None = None,
    count: bool = False,
) -> OriginalPart:
    """A part of an original, which is a text or a message.

    Raises:
        StoreError: what is asked for is not there, cannot be read, or does not go together.
    """
    if fields is not None:
        if pattern is not None:
            raise StoreError(
                "Pass fields or pattern, not both. A path can choose: items[?status=='failed'].id; "
                "in a table or lines of JSON: [?status=='failed'].id"
            )
        from context_compression.session.fields import fields_of

        text = in_lines(original)
        if lines is not None:
            select(text, lines, None)  # raises if they are not there
        found = fields_of(original, text, fields, lines)
        if count:
            return OriginalPart(found.counted(), found.about, counts=found.counts)
        return OriginalPart(found.as_text(), found.about, found.values)
    if lines is None and pattern is None and not count:
        return OriginalPart(as_text(original))
    searched = in_lines(original)
    text = select(searched, lines, pattern)
    if text == NO_LINE and lines is None:  # the pattern may match other parts than texts
        searched = as_text(original)
        text = select(searched, None, pattern)
    if not count:
        return OriginalPart(text)
    of = select(searched, lines, None).count("\n") + 1
    if pattern is None:
        return OriginalPart(how_many(of, "line"), counts={"lines": of, "of": of})
    matching = 0 if text == NO_LINE else text.count("\n") + 1  # they begin with their numbers
    told = f"{matching:,} of {how_many(of, 'line')}"
    return OriginalPart(told, counts={"lines": matching, "of": of})


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
