"""The last touch: what a dialect demands of the whole conversation, and spellings it allows."""

from collections.abc import Callable, Mapping
from itertools import groupby
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from provider.reading import is_list, is_object

from context_compression.testing import Dialect
from generated.talk import Messages

MARKS = 4
"""Cache breakpoints that Anthropic takes."""
SNAKE = {
    "functionCall": "function_call", "functionResponse": "function_response",
    "inlineData": "inline_data", "mimeType": "mime_type", "thoughtSignature": "thought_signature",
    "executableCode": "executable_code", "codeExecutionResult": "code_execution_result",
}  # fmt: skip
"""Keys of Gemini's parts as its Python library spells them."""


def shaped(kind: Dialect, messages: Messages, spread: bool) -> SearchStrategy[Messages]:
    """The conversation as the dialect wants it."""
    if kind == "anthropic":
        return _anthropic(messages, spread)
    return SHAPES[kind](messages) if kind in SHAPES else st.just(messages)


@st.composite
def _anthropic(draw: DrawFn, messages: Messages, spread: bool) -> Messages:
    """No more marks than allowed; where asked for, a message for each block now and then."""
    within_marks(messages)
    if not spread or draw(st.booleans()):
        return messages
    return [
        message | ({} if part is None else {"content": [part]})
        for message in messages
        for part in (_content(message) or [None])
    ]


def within_marks(messages: Messages) -> None:
    """Take away the marks that are too many for Anthropic."""
    marked = [block for message in messages for block in _content(message)]
    for block in [block for block in marked if "cache_control" in block][MARKS:]:
        del block["cache_control"]


def _content(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    return content if is_list(content) else []


@st.composite
def _ollama(draw: DrawFn, messages: Messages) -> Messages:
    """Older programs do not name the tool that answers."""
    if draw(st.booleans()):
        return messages
    return [{key: m[key] for key in m if key != "tool_name"} for m in messages]


@st.composite
def _responses(draw: DrawFn, messages: Messages) -> Messages:
    """A message may say that it is one."""
    if draw(st.booleans()):
        return messages
    return [{"type": "message"} | m if "role" in m else m for m in messages]


@st.composite
def _gemini(draw: DrawFn, messages: Messages) -> Messages:
    """What the model says at once is one content; ids may be missing, keys in snake_case."""
    joined = _joined(messages, "parts", "model")
    if draw(st.booleans()):
        joined = [
            content | {"parts": list(map(_without_id, content["parts"]))} for content in joined
        ]
    if draw(st.booleans()):
        joined = [
            content | {"parts": list(map(_in_snake_case, content["parts"]))} for content in joined
        ]
    return joined


def _without_id(part: dict[str, Any]) -> dict[str, Any]:
    return {
        name: {key: value[key] for key in value if key != "id"} if is_object(value) else value
        for name, value in part.items()
    }


def _in_snake_case(part: dict[str, Any]) -> dict[str, Any]:
    """The keys of a part, and of the data in it; arguments and responses stay as they are."""
    return {
        SNAKE.get(name, name): {SNAKE.get(key, key): value[key] for key in value}
        if is_object(value)
        else value
        for name, value in part.items()
    }


@st.composite
def _vercel(draw: DrawFn, messages: Messages) -> Messages:
    """Each result may have its own message."""
    if draw(st.booleans()):
        return messages
    return [
        message | {"content": content}
        for message in messages
        for content in (
            [[part] for part in message["content"]]
            if message["role"] == "tool"
            else [message["content"]]
        )
    ]


def _joined(messages: Messages, key: str, *roles: str) -> Messages:
    """Consecutive messages of one of the roles as one message."""
    joined: Messages = []
    for role, group in groupby(messages, key=lambda message: message["role"]):
        said = list(group)
        if role in roles:
            said = [said[0] | {key: [block for message in said for block in message[key]]}]
        joined += said
    return joined


SHAPES: Mapping[Dialect, Callable[[Messages], SearchStrategy[Messages]]] = {
    "ollama": _ollama,
    "responses": _responses,
    "gemini": _gemini,
    "bedrock": lambda messages: st.just(_joined(messages, "content", "user", "assistant")),
    "vercel": _vercel,
}
