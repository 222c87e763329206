"""A text of which only some parts are shown: in order, the gaps marked with what is missing."""

import re
from collections.abc import Sequence
from typing import TypeAlias

from context_compression.conversation.whereabouts import JSON, whereabouts

Span: TypeAlias = tuple[int, int]
"""Characters `start` to `stop` of a text."""
NEWLINE = "\n"
LINE_NUMBER = re.compile(r" {0,9}(\d{1,9})(?:[→\t:]|\| ?)")
"""How a line begins that a tool numbered."""
NUMBERED = re.compile(rf"(?:[^\n]*\n){{0,3}}{LINE_NUMBER.pattern}")
"""How a text begins whose lines are numbered; a tool may say before what it is."""
GAP_CHARS = 60
"""Characters up to which a gap is shown: its mark would be hardly shorter, and tells less."""
PLACE_CHARS = 120
"""Characters of a gap from which on its mark may tell where the text goes on."""
GAP_TOKENS, NUMBERED_GAP_TOKENS, JSON_GAP_TOKENS = 5, 2, 12
"""What the mark of a gap costs, about; between numbered lines it is short, in JSON with a path."""


def render(text: str, spans: Sequence[Span], ref: str = "") -> str:
    """The chosen spans of a text in order, gaps marked with what is missing, the first with `ref`.

    A gap of up to `GAP_CHARS` is shown; between numbered lines `…` tells as much as a number. In
    JSON and diffs the mark of a longer one tells where the text goes on, unless it broke off there.
    """
    shown: list[str] = []
    position = 0
    where = whereabouts(text)
    for start, stop in (*sorted(spans), (len(text), len(text))):
        start = max(start, position)
        between = text[position:start]
        if not between.strip("\n") or len(between) <= GAP_CHARS:
            shown.append(between)
        else:
            goes_on = ""
            if where and len(between) > PLACE_CHARS and start < len(text):
                broke_off, inside = where.inside(position), where.inside(start)
                goes_on = "" if inside in (None, broke_off) else where.name
            if not ref and not goes_on and is_told_by_numbers(text, position, start):
                mark = "…"
            else:
                begins = NEWLINE if position else ""  # of the line before
                mark, ref = gap(between.removeprefix(begins), ref, goes_on), ""
            shown.append(f"{NEWLINE if shown else ''}{mark}{NEWLINE if start < len(text) else ''}")
        shown.append(text[start:stop])
        position = max(position, stop)
    return "".join(shown)


def marked_with(rendered: str, ref: str) -> bool:
    """Whether the mark of a gap in it tells the ref."""
    return bool(ref) and f"; ref {ref}]" in rendered


def gap(missing: str, ref: str = "", goes_on: str = "") -> str:
    """The mark of a gap: `[… 12 lines]`, or characters where it lies within a line.

    With where the text goes on: `[… 9 lines up to $.issues.2; ref …]`, `[… 9 lines up to a.py]`.
    """
    missing = missing.removesuffix(NEWLINE)
    lines = missing.count(NEWLINE) + 1
    what = f"{lines} lines" if lines > 1 else f"{len(missing)} characters"
    return f"[… {what}{' up to ' + goes_on if goes_on else ''}{'; ref ' + ref if ref else ''}]"


def gap_tokens(text: str) -> int:
    """What the mark of a gap in a text costs, about."""
    if NUMBERED.match(text):
        return NUMBERED_GAP_TOKENS
    return JSON_GAP_TOKENS if JSON.match(text) else GAP_TOKENS


def is_told_by_numbers(text: str, start: int, stop: int) -> bool:
    """Whether numbered lines are missing, and the numbers around the gap tell which.

    Tools that show a file number its lines.
    """
    missing = text[start:stop]
    if (start and not missing.startswith(NEWLINE)) or not missing.endswith(NEWLINE):
        return False
    lines = missing.strip(NEWLINE)
    first, last = _number(lines, 0), _number(lines, lines.rfind(NEWLINE) + 1)
    if first is None or last is None or last - first != lines.count(NEWLINE):
        return False
    before = _number(text, text.rfind(NEWLINE, 0, start) + 1) if start else 0
    return (before, _number(text, stop)) == (first - 1, last + 1)


def _number(text: str, line: int) -> int | None:
    """The number of the line that begins at `line`."""
    found = LINE_NUMBER.match(text, line)
    return int(found[1]) if found else None
