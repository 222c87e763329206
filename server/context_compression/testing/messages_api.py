r"""A Messages API with a script, on loopback: a real client can use it without network or costs.

    with MessagesAPI([rate_limited(retry_after=3), "## Goal\nShip it."]) as api:
        client = AsyncAnthropic(api_key="any", base_url=api.base_url)

Each request takes the next entry of the script; the last entry is repeated. The protocol follows
docs.anthropic.com/en/api/messages-streaming and .../errors.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias
from zlib import crc32

from context_compression.testing.scripted_api import (
    Body,
    Delivery,
    Refusal,
    Request,
    ScriptedAPI,
    halves,
    tokens_of,
)

__all__ = [
    "Answer", "Body", "Entry", "MessagesAPI", "Refusal", "Request", "dropped", "empty", "failed",
    "foreign_thinking", "overloaded", "rate_limited", "refused", "slow", "too_long", "tool_call",
    "truncated",
]  # fmt: skip


@dataclass(frozen=True)
class Answer(Delivery):
    """A message: streamed as events or sent at once, as the request says.

    Attributes:
        text: its text, or a function of the request's body; if it is empty, there is no block.
        stop_reason: as the API spells it; `None` if the stream ends too early.
        tool: name of a tool that it calls.
        content: further blocks in the API's form, for example calls with an id and input.
        usage: tokens instead of the counted ones, for example `cache_read_input_tokens`.
    """

    text: str | Callable[[Body], str] = "## Goal\nAs before."
    stop_reason: str | None = "end_turn"
    tool: str | None = None
    content: Sequence[Body] = ()
    usage: Mapping[str, int] = field(default_factory=dict[str, int])


Entry: TypeAlias = str | Callable[[Body], str | Answer | Refusal] | Answer | Refusal
"""A string is the text of an answer; a function makes an entry of another kind from the request's
body.
"""

# every field can be set: `slow(first_after=2)`, `dropped(stop_after=0)`
slow = partial(Answer, first_after=3600)
dropped = partial(Answer, stop_after=3)
truncated = partial(Answer, text="## Goal\nTo be con", stop_reason="max_tokens")
empty = partial(Answer, text="")
tool_call = partial(Answer, text="Let me look first.", stop_reason="tool_use", tool="Read")
refused = partial(Answer, text="", stop_reason="refusal")
failed = partial(Refusal, 500, "api_error", "Internal server error")
overloaded = partial(Refusal, 529, "overloaded_error", "Overloaded")


def rate_limited(retry_after: float | None = None) -> Refusal:
    """429, with the header `retry-after` if seconds are given."""
    headers = {} if retry_after is None else {"retry-after": f"{retry_after:g}"}
    return Refusal(429, "rate_limit_error", "This request would exceed your rate limit.", headers)


def too_long(tokens: int = 213_462, maximum: int = 200_000) -> Refusal:
    """400: the prompt does not fit the model."""
    message = f"prompt is too long: {tokens} tokens > {maximum} maximum"
    return Refusal(400, "invalid_request_error", message)


def foreign_thinking(place: str = "messages.1.content.0") -> Refusal:
    """400: the content before a thinking block has changed since the block was made."""
    message = (
        f"{place}: Invalid `signature` in `thinking` block. The block is bound to a different "
        "conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` "
        'to "drop_block".'
    )
    return Refusal(400, "invalid_request_error", message)


class MessagesAPI(ScriptedAPI):
    """The server; it runs inside `with`, and leaving the block ends every wait.

    Attributes:
        requests: all so far, in order.
    """

    def __init__(
        self, script: Sequence[Entry] | None = None, *, api_key: str | None = None
    ) -> None:
        """A server with a script; if `api_key` is given, every other key is refused."""
        super().__init__(script or [Answer()], api_key=api_key)

    def counted(self, path: str, body: Body) -> Body | None:
        """The number of tokens, if the request asks for that."""
        is_count = path.startswith("/v1/messages/count_tokens")
        return {"input_tokens": tokens_of(body)} if is_count else None

    def events(self, answer: str | Answer, body: Body) -> Iterator[Body]:
        """The message, at once or in events."""
        message = _message(Answer(answer) if isinstance(answer, str) else answer, body)
        return _events(message) if body.get("stream") else iter([message])

    def error(self, refusal: Refusal) -> Body:
        """The error in the API's form, for an answer or an event."""
        return refusal.body

    def encoded(self, event: Body) -> str:
        """An event with its type."""
        return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"


def _message(answer: Answer, body: Body) -> Body:
    """The answer in its form without streaming."""
    text = answer.text(body) if callable(answer.text) else answer.text
    content: list[Body] = [{"type": "text", "text": text}] if text else []
    if answer.tool:
        content.append({"type": "tool_use", "id": "toolu_1", "name": answer.tool, "input": {}})
    content += answer.content
    usage = {"input_tokens": tokens_of(body["messages"]), "output_tokens": tokens_of(content)}
    exchange = json.dumps([body["messages"], content]).encode()
    return {
        "id": f"msg_{crc32(exchange):08x}",  # agent hosts treat equal ids as one message
        "type": "message",
        "role": "assistant",
        "model": body.get("model", ""),  # other clouds put it in the path
        "content": content,
        "stop_reason": answer.stop_reason,
        "stop_sequence": None,
        "stop_details": None,
        "usage": usage | dict(answer.usage),
    }


def _events(message: Body) -> Iterator[Body]:
    """The events in which a message is streamed."""
    usage = message["usage"]
    begun: Body = {"content": [], "stop_reason": None, "usage": usage | {"output_tokens": 1}}
    yield {"type": "message_start", "message": message | begun}
    for index, block in enumerate(message["content"]):
        start, deltas = _piecewise(block)
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    stop = {name: message[name] for name in ("stop_reason", "stop_sequence", "stop_details")}
    output = {"output_tokens": usage["output_tokens"]}
    yield {"type": "message_delta", "delta": stop, "usage": output}
    yield {"type": "message_stop"}


def _piecewise(block: Body) -> tuple[Body, list[Body]]:
    """The start of a block, and its deltas: text, arguments or thoughts, in two halves."""
    begun = dict(block)
    if text := block.get("text"):
        begun["text"] = ""
        return begun, [{"type": "text_delta", "text": part} for part in halves(text)]
    if block["type"] == "thinking":
        thoughts = halves(block["thinking"])
        signed = {"type": "signature_delta", "signature": block["signature"]}
        deltas = [{"type": "thinking_delta", "thinking": part} for part in thoughts]
        return begun | {"thinking": "", "signature": ""}, [*deltas, signed]
    if block.get("input"):
        begun["input"] = {}
        texts = halves(json.dumps(block["input"]))
        return begun, [{"type": "input_json_delta", "partial_json": part} for part in texts]
    return begun, []
