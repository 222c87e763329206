"""The dialects that conversations come in: dicts in, dicts out, untouched messages untouched.

One module for each dialect; `parse` recognises it by shape. A part that its dialect does not know
is `Opaque`. A conversation in no known dialect is refused, and the error names its format.

    anthropic.py      Anthropic Messages
    openai_chat.py    OpenAI Chat Completions, and APIs like it (Ollama, DeepSeek, Mistral, …)
    responses.py      items of OpenAI Responses
    gemini.py         Gemini's `contents`
    bedrock.py        Bedrock Converse
    ai_sdk.py         ModelMessages of Vercel's AI SDK

    reading.py        `parse`: dicts in, a `Conversation` out
    conversation.py   `Conversation`: messages as values, and the dialect they came in
    dialect.py        `Format`, what each dialect offers, and `detect`
    checks.py         what is refused, with the errors
    foreign/          formats that are no dialect, refused by name
    shapes.py         shapes of JSON values, and whether a value has one
    plain.py          what may be in a message: JSON, not too deep
    roles.py          the names of roles
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
