"""Marks on messages that are no part of what is said: messages are the same with and without them.

Some tell a provider where its cache ends. Programs put one on the newest message of each request
and take it off the one before: `cache_control` of Anthropic's API and of those that take its form,
`cacheControl` in the options of the AI SDK, a block `cachePoint` of Bedrock. The mark of an adapter
tells who speaks (`BY_USER`); a later process may not know that any more.
"""

from collections.abc import Mapping
from typing import Any

from context_compression.conversation.messages import is_array, is_object

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
