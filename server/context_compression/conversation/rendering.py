"""Shortened texts: chosen parts in order, and a mark for each gap."""

import re
from collections.abc import Sequence
from typing import TypeAlias

from context_compression.conversation.positions import JSON, positions_in

Span: TypeAlias = tuple[int, int]
"""Characters `start` to `stop` of a text, `stop` exclusive."""
NEWLINE = "\n"
LINE_NUMBER = re.compile(r" {0,9}(\d{1,9})(?:[→\t:]|\| ?)")
"""The beginning of a line that a tool numbered."""
GAP_CHARS = 60
"""A gap of up to this many characters is shown in full: a mark would be hardly shorter."""
PLACE_CHARS = 120
"""The mark of a gap of more characters than this may show where the text continues."""
GAP_TOKENS, EXPLICIT_GAP_TOKENS, JSON_GAP_TOKENS = 2, 9, 12
"""About how many tokens the mark of a gap takes: `…`, an explicit mark, and in JSON a path."""


def render(text: str, spans: Sequence[Span], ref: str = "", *, explicit: bool = False) -> str:
    """The chosen spans of a text in order, with a mark for each gap.

    A gap of up to `GAP_CHARS` characters is shown in full. The first mark says how much is missing
    and shows the ref; a mark without a ref is `…`. In JSON and diffs, the mark of a longer gap
    shows where the text continues, unless that is in the part where it broke off.

    Args:
        text: the full text.
        spans: the parts to show; they may overlap and be in any order.
        ref: the ref of the full text, which the first mark shows.
        explicit: whether every mark states that lines are left out of the view, because a reader
            could take `…` for content, as in a file that a call wrote.
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
            mark = "…"
            if ref or goes_on or explicit:
                begins = NEWLINE if position else ""  # belongs to the line before
                mark = gap(between.removeprefix(begins), ref, goes_on, explicit=explicit)
                ref = ""
            shown.append(f"{NEWLINE if shown else ''}{mark}{NEWLINE if start < len(text) else ''}")
        shown.append(text[start:stop])
        position = max(position, stop)
    return "".join(shown)


def marked_with(rendered: str, ref: str) -> bool:
    """Whether the mark of a gap in a rendered text shows the ref."""
    return bool(ref) and f"; ref {ref}]" in rendered


def gap(missing: str, ref: str = "", goes_on: str = "", *, explicit: bool = False) -> str:
    """The mark of a gap: `[… 12 lines]`, or `[… 90 characters]` within a line.

    It also shows the position at which the text continues and the ref, if they are given:
    `[… 9 lines up to $.issues.2; ref …]`, `[… 9 lines up to a.py]`. An explicit mark states that
    the text is left out of the view: `[… 9 lines left out of this view; ref …]`.
    """
    missing = missing.removesuffix(NEWLINE)
    lines = missing.count(NEWLINE) + 1
    what = f"{lines} lines" if lines > 1 else f"{len(missing)} characters"
    what += " left out of this view" if explicit else ""
    return f"[… {what}{' up to ' + goes_on if goes_on else ''}{'; ref ' + ref if ref else ''}]"


def gap_tokens(text: str, *, explicit: bool = False) -> int:
    """About how many tokens the mark of a gap in a text takes; see `render`."""
    if explicit:
        return EXPLICIT_GAP_TOKENS
    return JSON_GAP_TOKENS if JSON.match(text) else GAP_TOKENS
