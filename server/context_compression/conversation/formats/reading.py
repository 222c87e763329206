"""`parse`, which reads dicts into a `Conversation`."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from context_compression.conversation.formats import responses
from context_compression.conversation.formats.checks import (
    HOW_TO_PASS,
    check,
    refuse_items,
    refuse_tools_of_other_dialects,
    refuse_unread,
)
from context_compression.conversation.formats.conversation import Conversation, read_messages
from context_compression.conversation.formats.dialect import detect
from context_compression.conversation.formats.foreign import refusal
from context_compression.conversation.formats.plain import plain
from context_compression.conversation.formats.roles import ROLES
from context_compression.conversation.messages import is_array, is_object
from context_compression.errors import InvalidConversation


def parse(messages: Sequence[Any]) -> Conversation:
    """Read a conversation and recognise its dialect; a `Conversation` is returned unchanged.

    Args:
        messages: dicts of one dialect, or objects of a provider's library with `model_dump()`.

    Raises:
        InvalidConversation: `messages` is not a sequence of messages in one known dialect, or it
            holds a value that is not JSON.
    """
    if isinstance(messages, Conversation):
        return messages
    if not is_array(messages):
        raise InvalidConversation(
            refusal(messages)
            or f"A conversation is a list of messages, not {type(messages).__name__}. {HOW_TO_PASS}"
        )
    raw: Sequence[Mapping[str, Any]] = plain(messages)
    others = [(index, message) for index, message in enumerate(raw) if not _is_simple(message)]
    of_items = any(is_object(message) and responses.certainty(message) for _, message in others)
    for index, message in others:
        check(index, message, of_items=of_items)
    dialect = detect(raw, [message for _, message in others])
    refuse_items(raw, dialect)
    refuse_tools_of_other_dialects(others, dialect)
    values = tuple(read_messages(raw, dialect))
    refuse_unread(raw, values, dialect)
    return Conversation(raw, values, dialect)


def _is_simple(message: Any) -> bool:
    """Whether it is only a known role and a text, which is a message in any dialect."""
    if type(message) is not dict:
        return False
    fields = cast("dict[Any, Any]", message)
    role, content = fields.get("role"), fields.get("content")
    return len(fields) == 2 and type(content) is str and type(role) is str and role in ROLES
