"""`Format`: what reads and writes one dialect; and how a dialect is recognised."""

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

    `system_apart`: the system prompt is a text or text blocks outside the messages, so that a
    summary may be put into it.
    """

    name: str
    system_apart: bool
    rules: ProviderRules

    def read(self, message: Mapping[str, Any], ids: Ids | None = None) -> Message:
        """The message as a value; its `source` is the very object given."""
        ...

    def write(self, message: Message) -> dict[str, Any]:
        """An edited or new message as a dict of the dialect."""
        ...


DIALECTS = (ai_sdk, bedrock, gemini, responses, openai_chat, anthropic)
"""The modules of the dialects, in the order they are tried: messages of the others could be taken
for those of the last two."""


def detect(
    messages: Sequence[Mapping[str, Any]], distinctive: Sequence[Mapping[str, Any]] | None = None
) -> Format:
    """The dialect of the first message whose tools show one, else of the first that shows one.

    Failing both, roles that only OpenAI's messages have decide; plain texts are Anthropic's. A
    picture is weaker than a tool: a picture in another dialect is one part that stays as it is, but
    calls without results are no conversation.

    Args:
        messages: all of them.
        distinctive: those that are more than a role and a text, where the caller knows them.
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


def is_plain_text(message: Mapping[str, Any]) -> bool:
    """Whether a message is a role and a text, as in any dialect."""
    return isinstance(message.get("content"), str) and len(message) == 2
