"""Blocks of Anthropic messages, made from the formats of other hosts."""

import re
from typing import Any

from context_compression.conversation.messages import is_object
from context_compression.transcripts.lines import parse

DATA_URL = re.compile(r"data:(?P<media>[^;,]*+)[^,]*;base64,", re.I)


def text(said: str) -> dict[str, Any]:
    """`text("hello")` -> `{"type": "text", "text": "hello"}`."""
    return {"type": "text", "text": said}


def thinking(said: str, signature: str = "") -> dict[str, Any]:
    """A thinking block. The signature may be the provider's encrypted form of the reasoning."""
    return {"type": "thinking", "thinking": said, "signature": signature}


def call(call_id: str, name: str, given: Any) -> dict[str, Any]:
    """A tool call. `given` is an object or the JSON of one; any other value becomes `input`."""
    value = parse(given.encode("utf-8", "replace")) if isinstance(given, str) and given else given
    if not is_object(value):
        value = {"input": given} if given else {}
    return {"type": "tool_use", "id": call_id, "name": name, "input": value}


def result(call_id: str, content: Any, *, failed: bool = False) -> dict[str, Any]:
    """A tool result; the content is a text or blocks."""
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    return block | ({"is_error": True} if failed else {})


def unread(value: Any) -> dict[str, Any]:
    """A value that is no block, carried along as one of a type that nobody knows."""
    return {"type": "none", "value": value}


def media(kind: str, data: str) -> dict[str, Any]:
    """`media("image/png", "iVBO…")` -> an image; other media types become a document."""
    source = {"type": "base64", "media_type": kind, "data": data}
    return {"type": "image" if kind.startswith("image/") else "document", "source": source}


def linked(url: str, kind: str = "image/") -> dict[str, Any]:
    """An image or document by its URL, which may hold the data itself (`data:`)."""
    if match := DATA_URL.match(url):
        return media(match["media"] or kind, url[match.end() :])
    shown = "image" if kind.startswith("image/") else "document"
    return {"type": shown, "source": {"type": "url", "url": url}}
