"""Checklists in texts: lines with a box, which is empty or ticked.

- [ ] port the letters
- [x] read the code
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from context_compression.conversation.messages import is_array
from context_compression.conversation.rendering import Span

TICKS = "✅☑✔✓☒🗹"
BOXES = "☐⬜🔲◻□▢"
TICKED = re.compile(
    rf"\s*(?:(?:[-*+•]|\d+[.)])\s+)?(?:\*\*)?(?:\[(?:[xX✓✔✅]|done)\]|[{TICKS}]|~~.+~~\s*\Z)"
)
"""The beginning of a text that is a finished task."""
BOX = re.compile(
    rf"[ \t]*(?:>[ \t]*)?(?:(?:[-*+•]|\d+[.)])[ \t]+)?(?:\[(?P<mark>[ xX✓✔✅~/>-]?)\][ \t]+"
    rf"|(?P<sign>[{TICKS}{BOXES}])\ufe0f?[ \t]+)(?P<what>\S[^\n]*)"
)
"""A line of a checklist. Roo Code marks begun tasks with `[-]`."""
ITEM = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s+(?=\S)")
FENCE = re.compile(r"\s*(?:`{3,}|~{3,})")
LEAST_BOXES = 2
"""The fewest lines with a box that make a checklist."""


class Box(NamedTuple):
    """A line of a checklist: its place in the text, its task, and whether it is ticked."""

    span: Span
    what: str
    ticked: bool


def boxes_in(text: str) -> Sequence[Box]:
    """The lines of the checklist in a text, without quoted blocks; empty if it has none."""
    if "[" not in text and not any(sign in text for sign in TICKS + BOXES):
        return ()
    found: list[Box] = []
    start, fenced = 0, False
    for line in text.split("\n"):
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced and (box := BOX.fullmatch(line.rstrip())):
            ticked = (box["mark"] or "") in "xX✓✔✅" and bool(box["mark"])
            ticked = ticked or (box["sign"] or " ") in TICKS
            begin = start + len(line) - len(line.lstrip())
            span = begin, start + len(line.rstrip())
            found.append(Box(span, " ".join(box["what"].split()), ticked))
        start += len(line) + 1
    return found if len(found) >= LEAST_BOXES or _is_all(text, found) else ()


def _is_all(text: str, boxes: Sequence[Box]) -> bool:
    """Whether a text consists only of its boxes."""
    return len(boxes) == len([line for line in text.split("\n") if line.strip()])


def entries_of(text: str) -> Sequence[Any]:
    """The tasks in an argument that is a text: a list in JSON, or lines with boxes or bullets.

    Empty if the text is no such list.
    """
    if text.lstrip().startswith("["):
        try:
            given = json.loads(text)
        except (ValueError, RecursionError):
            given = None
        if is_array(given):
            return given
    if boxes := boxes_in(text):
        return [text[start:stop] for start, stop in (box.span for box in boxes)]
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    return lines if len(lines) >= LEAST_BOXES and all(map(ITEM.match, lines)) else ()


def open_boxes(texts: Sequence[str]) -> Mapping[str, Sequence[Span]]:
    """The spans of the open tasks in the checklists of some texts, by text.

    Of a task in several checklists the newest box counts. A checklist that a newer one continues
    has no open tasks.

    Args:
        texts: texts of a conversation, in order.
    """
    known: set[str] = set()
    found: dict[str, Sequence[Span]] = {}
    for text in reversed(texts):
        boxes = () if text in found else boxes_in(text)
        if boxes and known.isdisjoint(box.what for box in boxes):
            found[text] = [box.span for box in boxes if not box.ticked]
        known.update(box.what for box in boxes)
    return found
