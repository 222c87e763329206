"""`Format`, the protocol that each dialect implements, and `detect`, which recognises a dialect."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from context_compression.conversation.formats import (
    ai_sdk,
    anthropic,
    bedrock,
    gemini,
    openai_chat,
    responses,
)
from context_compression.conversation.formats.ids import Ids
from context_compression.conversation.messages import Message
from context_compression.conversation.provider_rules import ProviderRules


class Format(Protocol):
    """Reads and writes the messages of one dialect.

    Attributes:
        name: the name of the dialect.
        system_apart: whether the system prompt is outside the messages, as a text or text blocks. A
            summary may then be put into it.
        flags_errors: whether a result says whether its call failed, apart from its text.
        rules: the rules of the dialect's providers.
    """

    name: str
    system_apart: bool
    flags_errors: bool
    rules: ProviderRules

    def read(self, message: Mapping[str, Any], ids: Ids | None = None) -> Message:
        """The message as a value; its `source` is the same object.

        Args:
            message: a dict of the dialect.
            ids: gives ids to calls that have none; one for all messages of a conversation.
        """
        ...

    def write(self, message: Message) -> dict[str, Any]:
        """An edited or new message as a dict of the dialect."""
        ...


DIALECTS = (ai_sdk, bedrock, gemini, responses, openai_chat, anthropic)
"""The modules of the dialects, in the order in which they are tried.

The last two would also take messages of the others for their own."""


def detect(
    messages: Sequence[Mapping[str, Any]], distinctive: Sequence[Mapping[str, Any]] | None = None
) -> Format:
    """The dialect of a conversation, recognised by the shape of its messages.

    The first message that is certainly of one dialect decides, such as one with a tool call or
    result. Without one, the first message with another part of a dialect decides. Without either, a
    system, developer or tool role means OpenAI Chat, and plain texts mean Anthropic. Tools decide
    before pictures: a picture that is read in the wrong dialect stays unchanged, but a call would
    lose its result.

    Args:
        messages: all messages.
        distinctive: the messages that are more than a role and a text, if the caller knows them.
    """
    first: Format | None = None
    for message in messages if distinctive is None else distinctive:
        if is_plain_text(message):
            continue
        for module in DIALECTS:
            certainty = module.certainty(message)
            if certainty == 2:
                return module.FORMAT
            if certainty and first is None:
                first = module.FORMAT
    if first is not None:
        return first
    of_openai = any(m.get("role") in ("system", "developer", "tool") for m in messages)
    return openai_chat.FORMAT if of_openai else anthropic.FORMAT


def is_certain(message: Mapping[str, Any], dialect: Format) -> bool:
    """Whether a message alone shows that a conversation is of a dialect."""
    if is_plain_text(message):
        return False
    return any(m.FORMAT is dialect and m.certainty(message) == 2 for m in DIALECTS)


def is_plain_text(message: Mapping[str, Any]) -> bool:
    """Whether a message is only a role and a text, which all dialects have in common."""
    return isinstance(message.get("content"), str) and len(message) == 2
