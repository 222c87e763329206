"""The dialects of conversations: each is read from dicts and written back as dicts.

Each dialect has one module, and `parse` recognises a dialect by its shape. Messages that were not
edited are written back as the same objects. A part that its dialect does not know is read as
`Opaque`. A conversation in no known dialect is refused; the error names its format where that is
known.

    anthropic.py     Anthropic Messages
    openai_chat.py   OpenAI Chat Completions, and APIs like it (Ollama, DeepSeek, Mistral, …)
    responses.py     items of OpenAI Responses
    gemini.py        Gemini's `contents`
    bedrock.py       Bedrock Converse
    ai_sdk.py        ModelMessages of Vercel's AI SDK

    reading.py   `parse`, which recognises the dialect of dicts, checks them, and makes a
                 `Conversation`; formats that are recognised, by foreign.txt, but not read, are
                 refused by name
    parts.py     what the readers of dialects share: plain JSON, providers' rules, roles, shapes,
                 ids, calls
"""

from context_compression.conversation.formats.parts import ROLES, AnyMessage, plain
from context_compression.conversation.formats.reading import (
    DIALECTS,
    Conversation,
    Format,
    check,
    detect,
    may_be_message,
    parse,
)

__all__ = [
    "DIALECTS", "ROLES", "AnyMessage", "Conversation", "Format", "check", "detect",
    "may_be_message", "parse", "plain",
]  # fmt: skip
