"""Shortened texts: chosen parts in order, and a mark for each gap that says how much is missing."""

import re
from collections.abc import Sequence
from typing import TypeAlias

from context_compression.conversation.positions import JSON, positions_in

Span: TypeAlias = tuple[int, int]
"""Characters `start` to `stop` of a text, `stop` exclusive."""
NEWLINE = "\n"
LINE_NUMBER = re.compile(r" {0,9}(\d{1,9})(?:[→\t:]|\| ?)")
"""The beginning of a line that a tool numbered."""
NUMBERED = re.compile(rf"(?:[^\n]*\n){{0,3}}{LINE_NUMBER.pattern}")
"""The beginning of a text with numbered lines, after a heading of up to three lines."""
GAP_CHARS = 60
"""A gap of up to this many characters is shown in full: a mark would be hardly shorter."""
PLACE_CHARS = 120
"""The mark of a gap of more characters than this may show where the text continues."""
GAP_TOKENS, NUMBERED_GAP_TOKENS, JSON_GAP_TOKENS = 2, 2, 12
"""About how many tokens the mark of a gap takes, which is `…` inside a text; in JSON it has a
path."""


def render(text: str, spans: Sequence[Span], ref: str = "") -> str:
    """The chosen spans of a text in order; a mark for each gap says how much is missing.

    A gap of up to `GAP_CHARS` characters is shown in full. Between numbered lines, a mark without a
    ref is `…`, because the numbers show which lines are missing. In JSON and diffs, the mark of a
    longer gap shows where the text continues, unless that is in the part where it broke off.

    Args:
        text: the full text.
        spans: the parts to show; they may overlap and be in any order.
        ref: the ref of the full text, which the first mark shows.
    """
    shown: list[str] = []
    position = 0
    positions = positions_in(text)
    for start, stop in (*sorted(spans), (len(text), len(text))):
        start = max(start, position)
        between = text[position:start]
        if not between.strip("\n") or len(between) <= GAP_CHARS:
            shown.append(between)
        else:
            goes_on = ""
            if positions and len(between) > PLACE_CHARS and start < len(text):
                broke_off, inside = positions.inside(position), positions.inside(start)
                goes_on = "" if inside in (None, broke_off) else positions.name
            if not ref and not goes_on and is_clear_from_numbers(text, position, start):
                mark = "…"
            else:
                begins = NEWLINE if position else ""  # belongs to the line before
                mark = gap(between.removeprefix(begins), ref, goes_on) if ref or goes_on else "…"
                ref = ""
            shown.append(f"{NEWLINE if shown else ''}{mark}{NEWLINE if start < len(text) else ''}")
        shown.append(text[start:stop])
        position = max(position, stop)
    return "".join(shown)


def marked_with(rendered: str, ref: str) -> bool:
    """Whether the mark of a gap in a rendered text shows the ref."""
    return bool(ref) and f"; ref {ref}]" in rendered


def gap(missing: str, ref: str = "", goes_on: str = "") -> str:
    """The mark of a gap: `[… 12 lines]`, or `[… 90 characters]` within a line.

    It also shows the position at which the text continues and the ref, if they are given:
    `[… 9 lines up to $.issues.2; ref …]`, `[… 9 lines up to a.py]`.
    """
    missing = missing.removesuffix(NEWLINE)
    lines = missing.count(NEWLINE) + 1
    what = f"{lines} lines" if lines > 1 else f"{len(missing)} characters"
    return f"[… {what}{' up to ' + goes_on if goes_on else ''}{'; ref ' + ref if ref else ''}]"


def gap_tokens(text: str) -> int:
    """About how many tokens the mark of a gap in a text takes."""
    if NUMBERED.match(text):
        return NUMBERED_GAP_TOKENS
    return JSON_GAP_TOKENS if JSON.match(text) else GAP_TOKENS


def is_clear_from_numbers(text: str, start: int, stop: int) -> bool:
    """Whether a gap is in numbered lines, and the numbers around it show which are missing."""
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
    """The number of the line that begins at character `line`."""
    number = LINE_NUMBER.match(text, line)
    return int(number[1]) if number else None
