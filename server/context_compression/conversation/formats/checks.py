"""Checks of messages before and after they are read; each error names the message's index."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from context_compression.conversation.formats import gemini, openai_chat, responses
from context_compression.conversation.formats.dialect import DIALECTS, Format, is_plain_text
from context_compression.conversation.formats.foreign import refusal
from context_compression.conversation.formats.plain import why_not_json
from context_compression.conversation.formats.roles import ROLES
from context_compression.conversation.messages import Message, is_array, is_object
from context_compression.errors import InvalidConversation

CONTENT_KEYS = frozenset(
    {
        "content",
        "parts",
        "tool_calls",
        "function_call",
        "refusal",
        "audio",
        *openai_chat.EXTRA_KEYS,
    }
)
"""The keys under which a message of any dialect may hold its content."""
NAMED_KEYS = 8
"""How many keys of a message an error names at most."""
HOW_TO_PASS = (
    "Pass the messages as Anthropic, OpenAI (Chat or Responses), Gemini, Bedrock Converse or the "
    'AI SDK have them: [{"role": "user", "content": "…"}, …].'
)


def may_be_message(value: Any) -> bool:
    """Whether a value has the outer shape of a message in one of the dialects."""
    if not is_object(value) or not isinstance(value.get("content", ""), str | list | None):
        return False
    return isinstance(value.get("role", value.get("type")), str) or "parts" in value


def check(index: int, message: Any, *, of_items: bool = False) -> None:
    """Refuse a value that is not a message in any dialect.

    Args:
        index: its position in the conversation, for the error.
        message: the value that the caller passed.
        of_items: whether it is among items of OpenAI Responses. Items have a type and no role, and
            new types come out each year, so any type is accepted there.

    Raises:
        InvalidConversation: it is in a foreign format, has no valid role or content, or holds a
            value that is not JSON.
    """
    foreign = refusal(message)
    if not is_object(message):
        raise InvalidConversation(
            foreign
            or f"Message {index} is {type(message).__name__}, not an object with role and "
            f"content. {HOW_TO_PASS}",
            index,
        )
    if foreign:
        raise InvalidConversation(f"Message {index} cannot be read. {foreign}", index)
    role = message.get("role")
    if responses.is_item(message) or (of_items and isinstance(message.get("type"), str)):
        pass  # most items have no role
    elif role is None and gemini.certainty(message) == 2:
        pass  # a Gemini content without a role is the user's
    elif not isinstance(role, str) or role not in ROLES:
        allowed = ", ".join(sorted(ROLES))
        raise InvalidConversation(f"Message {index} has role {role!r}; allowed: {allowed}.", index)
    elif CONTENT_KEYS.isdisjoint(message):
        raise InvalidConversation(no_content_error(index, message), index)
    content = message.get("content")
    if content is not None and not isinstance(content, str) and not is_array(content):
        raise InvalidConversation(
            f"The content of message {index} is {type(content).__name__}; it must be a string, a "
            "list of blocks, or null.",
            index,
        )
    if reason := why_not_json(message):
        raise InvalidConversation(
            f"Message {index} holds {reason}. Pass messages as JSON has them, or the objects of a "
            "provider's library that have `.model_dump()`.",
            index,
        )


def no_content_error(index: int, message: Mapping[str, Any]) -> str:
    """The error for a message that has a role but none of the `CONTENT_KEYS`."""
    keys = [f'"{key!s:.40}"' for key in islice(message, NAMED_KEYS)]
    keys += ["…"] if len(message) > NAMED_KEYS else []
    its = f"its keys are {', '.join(keys)}" if len(keys) > 1 else f"its only key is {keys[0]}"
    return (
        f"Message {index} has no content that we can read; {its}. Pass the text as its "
        '"content", {"role": "user", "content": "…"}, or the message as Anthropic, OpenAI, Gemini, '
        "Bedrock Converse or the AI SDK have it."
    )


def refuse_items(raw: Sequence[Mapping[str, Any]], dialect: Format) -> None:
    """Refuse items of OpenAI Responses in another dialect; they are the messages without a role.

    Raises:
        InvalidConversation: a message of another dialect has no role.
    """
    if dialect is responses.FORMAT or dialect is gemini.FORMAT:
        return  # a Gemini content without a role is the user's
    item = next((index for index, message in enumerate(raw) if "role" not in message), None)
    if item is not None:
        raise InvalidConversation(
            f"Message {item} is an item of OpenAI Responses among messages of the dialect "
            f"{dialect.name}. Pass all of them in one dialect.",
            item,
        )


def refuse_tools_of_other_dialects(
    messages: Iterable[tuple[int, Mapping[str, Any]]], dialect: Format
) -> None:
    """Refuse tool calls and results of another dialect.

    This dialect would read them as opaque, and calls would be separated from their results.

    Args:
        messages: messages with their indices.
        dialect: the dialect of the conversation.

    Raises:
        InvalidConversation: a message holds a call or result of another dialect.
    """
    module = next(module for module in DIALECTS if module.FORMAT is dialect)
    for index, message in messages:
        if is_plain_text(message) or module.certainty(message):
            continue
        other = next((m.FORMAT.name for m in DIALECTS if m.certainty(message) == 2), None)
        if other is not None:
            raise InvalidConversation(
                f"Message {index} calls a tool, answers or speaks as the dialect {other} does, "
                f"among messages of the dialect {dialect.name}. Pass all of them in one dialect.",
                index,
            )


def refuse_unread(
    raw: Sequence[Mapping[str, Any]], values: Sequence[Message], dialect: Format
) -> None:
    """Refuse messages whose content this dialect does not read; they would be taken for empty.

    Raises:
        InvalidConversation: a message has content, but no blocks were read from it.
    """
    for index, (message, value) in enumerate(zip(raw, values, strict=True)):
        if not value.blocks and _has_content(message):
            raise InvalidConversation(
                f"Message {index} holds nothing that the dialect {dialect.name} knows, in which "
                "others are written. Pass all of them in one dialect.",
                index,
            )


def _has_content(message: Mapping[str, Any]) -> bool:
    """Whether one of the `CONTENT_KEYS` holds something."""
    values = (message.get(key) for key in CONTENT_KEYS)
    return any(value.strip() if isinstance(value, str) else value for value in values)
