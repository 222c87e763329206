"""Dates that open a stretch of a conversation, which come along with what is quoted from it."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from context_compression.conversation.messages import Text
from context_compression.planning.pieces import Place, Pool
from context_compression.planning.plan import Plan
from context_compression.strategies.filling.kept import KeptMessages

OPENING = re.compile(r"\s*(?:[\[(【][^\])】\n]{4,60}[\])】]|[^\n]{4,60}(?=\n))")
"""A text in brackets, or a short first line, at the beginning of a message."""
DATE = re.compile(
    r"\b(?:19|20)\d\d\b|\b\d{1,2}[./-]\d{1,2}[./-]\d{2,4}\b|\d{1,2}\s*[月日]"
    r"|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* \d{1,2}\b"
    r"|\b\d{1,2}\.? (?:jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])",
    re.IGNORECASE,
)
MOST_LETTERS = 24
"""The most letters of a line that is only a date, such as `Session on Wednesday, 12 September`."""


def with_dates(base: KeptMessages, pool: Pool, chosen: Iterable[Place]) -> Iterator[Place]:
    """The chosen places of a talk, and the date that opens each stretch with anything shown.

    A stretch goes from one message that begins with a date to the next one.
    """
    places = [*chosen]
    yield from places
    dated = _dated(base.plan, pool)
    if not dated:
        return
    starts = [*dated]
    shown = {pool.sources[number].message for number, start, _ in places if start == 0}
    needed: set[int] = set()
    messages = {pool.sources[number].message for number, _, _ in places}
    for index in (*messages, *base.kept):
        opened = bisect_right(starts, index)
        if opened and starts[opened - 1] not in shown and starts[opened - 1] not in base.kept:
            needed.add(starts[opened - 1])
    yield from (dated[index] for index in sorted(needed))


def _is_date(opening: str) -> bool:
    """Whether the beginning of a message is a date, and says hardly anything else."""
    letters = sum(map(str.isalpha, opening))
    return letters <= MOST_LETTERS and DATE.search(opening) is not None


def _dated(plan: Plan, pool: Pool) -> dict[int, Place]:
    """By message, in order: the place of the date with which it begins."""
    dated: dict[int, Place] = {}
    for number, source in enumerate(pool.sources) if plan.cutter.prose else ():
        block = plan.messages[source.message].blocks[source.slot]
        if source.message in dated or not isinstance(block, Text) or source.slot:
            continue
        opening = OPENING.match(source.text)
        if opening and source.start == 0 and _is_date(opening[0]):
            dated[source.message] = number, 0, opening.end()
    return dated
