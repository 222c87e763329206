"""The dialects of conversations: each is read from dicts and written back as dicts.

Each dialect has one module, and `parse` recognises a dialect by its shape. Messages that were not
edited are written back as the same objects. A part that its dialect does not know is read as
`Opaque`. A conversation in no known dialect is refused; the error names its format where that is
known.

    anthropic.py      Anthropic Messages
    openai_chat.py    OpenAI Chat Completions, and APIs like it (Ollama, DeepSeek, Mistral, …)
    responses.py      items of OpenAI Responses
    gemini.py         Gemini's `contents`
    bedrock.py        Bedrock Converse
    ai_sdk.py         ModelMessages of Vercel's AI SDK

    reading.py        `parse`, which reads dicts into a `Conversation`
    conversation.py   `Conversation`: messages as values, and the dialect they came in
    dialect.py        `Format`, the protocol of all dialects, and `detect`
    checks.py         checks of messages, and the errors for those that are refused
    foreign/          formats that are recognised only to refuse them by name
    shapes.py         shapes of JSON values, and whether a value has one
    plain.py          plain JSON: library objects replaced, depth and numbers checked
    roles.py          the names of roles
    opaque.py         blocks of a kind that a dialect does not know
    calls.py          the arguments of calls: objects, or texts that are JSON
    ids.py            ids for calls that have none
"""

from context_compression.conversation.formats.checks import check, may_be_message
from context_compression.conversation.formats.conversation import Conversation
from context_compression.conversation.formats.dialect import DIALECTS, Format, detect
from context_compression.conversation.formats.plain import plain
from context_compression.conversation.formats.reading import parse
from context_compression.conversation.formats.roles import ROLES

__all__ = [
    "DIALECTS",
    "ROLES",
    "Conversation",
    "Format",
    "check",
    "detect",
    "may_be_message",
    "parse",
    "plain",
]
