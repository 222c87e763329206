"""`opaque`, which reads a block of a kind that its dialect does not know."""

from collections.abc import Mapping
from typing import Any

from context_compression.conversation.messages import Opaque, as_object, is_object

COMPACTION = "compaction"
"""The type of a block, or of an item of OpenAI Responses, with the earlier conversation."""
OPTIONS = ("providerOptions", "providerMetadata")
"""The keys of a part of the AI SDK under which each provider's own values are."""


def opaque(block: Any) -> Opaque:
    """The block as a value; one with the conversation that a provider compacted always stays.

    OpenAI encrypts that conversation. Anthropic writes it as a text, and ignores all that is before
    the block (its page on compaction).
    """
    if not is_object(block) or not is_compaction(block):
        return Opaque(block)
    text = next((block[key] for key in ("content", "text") if isinstance(block.get(key), str)), "")
    return Opaque(block, stays=True, stands_for=True, text=text)


def is_compaction(block: Mapping[str, Any]) -> bool:
    """Whether a block holds the conversation that a provider compacted, by its type or options."""
    given = (option for key in OPTIONS for option in as_object(block.get(key)).values())
    return any(as_object(each).get("type") == COMPACTION for each in (block, *given))
