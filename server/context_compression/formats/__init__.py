"""The dialects conversations come in: dicts in, dicts out, untouched messages untouched.

One module for each; `parse` tells them apart by shape. What a dialect does not know is `Opaque`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from context_compression.errors import InvalidConversation
from context_compression.formats import anthropic, openai_chat
from context_compression.formats.plain import why_not_json
from context_compression.messages import Edited, Message, is_array, is_object

ROLES = {"system", "developer", "user", "assistant", "tool", "function"}


class Format(Protocol):
    """Reads and writes the messages of one dialect.

    `user_first`: the provider wants the user's message first, and tool results in user messages.
    """

    name: str
    user_first: bool

    def read(self, message: Mapping[str, Any]) -> Message:
        """The message as a value; `source` is the very object given."""
        ...

    def write(self, message: Message) -> dict[str, Any]:
        """An edited or new message as a dict of the dialect."""
        ...


@dataclass(frozen=True)
class Conversation:
    """A conversation as values, and the dialect it came in."""

    messages: tuple[Message, ...]
    format: Format

    def render(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        """Messages as dicts of this dialect; those nobody edited are the very objects that came."""
        return [
            self.format.write(message)
            if message.source is None or isinstance(message, Edited)
            else message.source
            for message in messages
        ]


def parse(messages: Sequence[Mapping[str, Any]]) -> Conversation:
    """Read a conversation, telling its dialect by shape.

    Raises:
        InvalidConversation: not a sequence of messages with a known `role`, or not JSON.
    """
    if not is_array(messages):
        raise InvalidConversation(
            f"A conversation is a list of messages, not {type(messages).__name__}. Pass Anthropic "
            'or OpenAI messages: [{"role": "user", "content": "…"}, …].'
        )
    for index, message in enumerate(messages):
        check(index, message)
    dialect = detect(messages)
    return Conversation(tuple(map(dialect.read, messages)), dialect)


def detect(messages: Sequence[Mapping[str, Any]]) -> Format:
    """The dialect of the first message that shows one by its shape: by tools, else by other parts.

    A picture in the other dialect is one part that stays as it is; calls without results are no
    conversation. Failing both, roles that only OpenAI's messages have decide; plain texts are
    Anthropic's.
    """
    by_tools = (openai_chat.uses_tools, anthropic.uses_tools)
    for of_openai, of_anthropic in (by_tools, (openai_chat.shows, anthropic.shows)):
        for message in messages:
            if of_openai(message):
                return openai_chat.FORMAT
            if of_anthropic(message):
                return anthropic.FORMAT
    system = any(message["role"] in ("system", "developer") for message in messages)
    return openai_chat.FORMAT if system else anthropic.FORMAT


def check(index: int, message: Any) -> None:
    """Whether a message is one.

    Raises:
        InvalidConversation: its role, its content or something in it cannot be.
    """
    if not is_object(message):
        raise InvalidConversation(
            f"Message {index} is {type(message).__name__}, not an object with role and content."
        )
    role = message.get("role")
    if not isinstance(role, str) or role not in ROLES:
        raise InvalidConversation(
            f"Message {index} has role {role!r}; allowed: {', '.join(sorted(ROLES))}."
        )
    content = message.get("content")
    if content is not None and not isinstance(content, str) and not is_array(content):
        raise InvalidConversation(
            f"The content of message {index} is {type(content).__name__}; it must be a string, a "
            "list of blocks, or null."
        )
    if strange := why_not_json(message):
        raise InvalidConversation(
            f"Message {index} holds {strange}. Pass messages as JSON has them; objects of a "
            "provider's library as dicts (`.model_dump()`)."
        )
