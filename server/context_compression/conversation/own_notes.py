"""What this package writes beside messages: marks for the cache, and digests.

Marks on messages that are no part of what is said: messages are the same with and without them.

Some tell a provider where its cache ends. Programs put one on the newest message of each request
and take it off the one before: `cache_control` of Anthropic's API and of those that take its form,
`cacheControl` in the options of the AI SDK, a block `cachePoint` of Bedrock. The mark of an adapter
tells who speaks (`BY_USER`); a later process may not know that any more.

Digests, which `window` puts in place of older messages: their wording, and their parts.

    [Compressed History] 40 earlier messages are not shown; first ref c3f91a20b77d:
    User asked: Why is the build red? → A test fails.; Go on. → It is green.
    Files: src/a.py
    [User] Never touch main.

A later digest takes the parts of an earlier one over, so that a view never has two.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from context_compression.conversation.labels import quotes_of
from context_compression.conversation.messages import COMPRESSED, is_array, is_object
from context_compression.plurals import how_many

BY_USER = "said_by_user"
"""The key of a result or text with which an adapter passes on who speaks in it, as far as its
framework knows. `True`: the content is the user's, as in the answer to a question. A string: those
of its words are. `False`: nothing is, whatever its role or wording."""
MARKS = frozenset({"cache_control", "cacheControl", "cachePoint", BY_USER})
MADE = frozenset({"args", "arguments", "input", "json", "output", "response", "result"})
"""Fields with values that a model or a tool made. What is named like a mark there is none."""


def without_marks(value: Any) -> Any:
    """A message, or a part of one, without marks; the same object if it has none."""
    if is_object(value):
        parts = {key: part for key, part in value.items() if key not in MARKS}
        bare = {key: part if key in MADE else without_marks(part) for key, part in parts.items()}
        kept = {key: part for key, part in bare.items() if part is parts[key] or part}
        same = len(kept) == len(value) and all(part is value[key] for key, part in kept.items())
        return value if same else kept
    if is_array(value):
        both = [(part, without_marks(part)) for part in value]
        kept = [bare for part, bare in both if bare is part or bare]
        return value if all(bare is part for part, bare in both) else kept
    return value


def unmarked(part: Mapping[str, Any]) -> dict[str, Any]:
    """A part of a message without what its adapter knew of who speaks."""
    return {key: value for key, value in part.items() if key != BY_USER}


def without_speakers(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message as other programs take it: the same object if nothing in it says who speaks."""
    content = message.get("content")
    if not is_array(content) or not any(is_object(part) and BY_USER in part for part in content):
        return unmarked(message) if BY_USER in message else message
    parts = [unmarked(part) if is_object(part) else part for part in content]
    return {**unmarked(message), "content": parts}


def said(message: Any) -> Any:
    """A message without marks, in one form: a text that is its only content stands for itself.

    To mark a text, a program makes it a block.
    """
    bare = without_marks(message)
    match bare:
        case {"content": [{"type": "text", "text": str(text), **others}]} if not others:
            return {**bare, "content": text}
        case _:
            return bare


def marked_as(message: Any, original: Any) -> Any:
    """A message that was made of an original, with marks only if the original has some now."""
    return message if without_marks(original) is not original else without_marks(message)


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
