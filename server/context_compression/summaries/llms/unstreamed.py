"""The answer of a server that sends no stream although it was asked for one.

Some servers do not know `stream` and send one JSON object; proxies send web pages, or an error with
the status 200.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from context_compression.conversation.messages import is_object

_TEXT = re.compile(r"application/json|text/(?!event-stream)", re.I)
"""The content type of an answer that may be no stream; clouds have types of their own for one."""
_EVENTS = re.compile(r"\s*(?:data|event|id|retry)?:")
"""How a stream of events begins, whatever its content type says."""


async def whole_answer(stream: Any, part: str, error: Any) -> Mapping[str, Any] | None:
    """The answer that was sent at once; `None` if it is a stream.

    Args:
        stream: as the client returned it.
        part: a key that each answer has.
        error: the class `APIError` of the client.

    Raises:
        APIError: something else was sent: an error, or a page.
    """
    response: Any = getattr(stream, "response", None)
    if not _TEXT.match(getattr(response, "headers", {}).get("content-type", "")):
        return None
    text = (await response.aread()).decode("utf-8", "replace")
    if _EVENTS.match(text):
        return None
    try:
        answer: Any = json.loads(text)
    except ValueError:
        answer = text
    if is_object(answer) and part in answer:
        return answer
    said = answer.get("error") or answer if is_object(answer) else text
    raise error("no answer", response.request, body=said)
