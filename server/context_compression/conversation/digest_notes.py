"""Digests, which `window` puts in place of older messages: their wording, and their parts.

    [Compressed History] 40 earlier messages are not shown; first ref c3f91a20b77d:
    User asked: Why is the build red? → A test fails.; Go on. → It is green.
    Files: src/a.py
    [User] Never touch main.

A later digest takes the parts of an earlier one over, so that a view never has two.
"""

import re
from collections.abc import Iterator, Sequence

from context_compression.conversation.labels import quotes_of
from context_compression.conversation.messages import COMPRESSED
from context_compression.display.plurals import how_many

TITLES = ("User asked", "Constraints", "Decisions", "Files", "Commands", "Errors")
"""The titles of the sections, in their order."""
BETWEEN = "; "
"""Stands between the items of a section."""
ANSWERED = " → "
"""Stands between a request and the answer to it."""
DIGEST = re.compile(
    rf"{re.escape(COMPRESSED)} ([\d,]{{1,20}}) earlier messages? (?:is|are) not shown(?=[;:.])"
)
"""The beginning of a digest, with the number of missing messages."""


def opening(missing: int, ref: str = "", *, restorable: bool) -> str:
    """The first line of a digest, without the sign at its end.

    Args:
        missing: how many messages are not shown.
        ref: of the first of them; "" if it has none.
        restorable: whether `context_restore` finds them.
    """
    are = "is" if missing == 1 else "are"
    finds = "; context_restore(query=…) finds them" if restorable else ""
    named = f"; {'first ' * (missing > 1)}ref {ref}" if ref else ""
    return f"{COMPRESSED} {how_many(missing, 'earlier message')} {are} not shown{named}{finds}"


def is_digest(text: str) -> bool:
    """Whether a text is a digest of this package."""
    return DIGEST.match(text) is not None


def missing_in(text: str) -> int:
    """The number of missing messages that a digest names; 0 for any other text."""
    match = DIGEST.match(text)
    return int(match[1].replace(",", "") or 0) if match else 0


def items_of(title: str, text: str) -> list[str]:
    """The items of a section of a digest, in their order; empty if it has no such section."""
    return [text[start:stop] for start, stop in _spans_of(title, text)]


def rule_spans(text: str) -> Iterator[tuple[int, int]]:
    """`(start, stop)` of each constraint of the user in a digest: quoted, or in its section."""
    yield from quotes_of("User", text)
    yield from _spans_of("Constraints", text)


def with_rules(text: str, rules: Sequence[str]) -> str:
    """A digest with constraints of the user quoted after it, each on its own line."""
    return "\n".join([text, *(f"[User] {rule}" for rule in rules)])


def _spans_of(title: str, text: str) -> Iterator[tuple[int, int]]:
    section = re.compile(rf"^{re.escape(title)}: ", re.M).search(text)
    if section is None:
        return
    start, end = section.end(), text.find("\n", section.end())
    end = len(text) if end < 0 else end
    while start < end:
        stop = text.find(BETWEEN, start, end)
        stop = end if stop < 0 else stop
        yield start, stop
        start = stop + len(BETWEEN)
