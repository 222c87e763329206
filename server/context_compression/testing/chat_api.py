r"""A `/chat/completions` with a script, on loopback: OpenAI's real client can use it without costs.

    with ChatAPI([rate_limited(retry_after=3), "## Goal\nShip it."]) as api:
        client = AsyncOpenAI(api_key="any", base_url=api.base_url)

Each request takes the next entry of the script; the last entry is repeated. The protocol follows
platform.openai.com/docs/api-reference/chat; the errors are those of OpenAI, vLLM and Ollama.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from context_compression.testing.scripted_api import (
    Body,
    Delivery,
    Page,
    Refusal,
    Request,
    ScriptedAPI,
    halves,
    tokens_of,
)

__all__ = [
    "Body", "ChatAPI", "Completion", "Entry", "Page", "Refusal", "Request", "completion_events",
    "dropped", "empty", "failed", "filtered", "not_supported", "rate_limited", "refused", "slow",
    "too_long", "tool_call", "truncated",
]  # fmt: skip


@dataclass(frozen=True)
class Completion(Delivery):
    """A completion: streamed in chunks or sent at once, as the request says.

    Attributes:
        text: its text, or a function of the request's body.
        finish_reason: as the API spells it; `None` if the stream ends too early.
        tool: name of a tool that it calls.
        message: further parts of the message, for example `refusal` or `reasoning_content`.
        usage: tokens instead of the counted ones; `None` for a server that never sends them.
    """

    text: str | Callable[[Body], str] = "## Goal\nAs before."
    finish_reason: str | None = "stop"
    tool: str | None = None
    message: Mapping[str, Any] = field(default_factory=dict[str, Any])
    usage: Mapping[str, Any] | None = field(default_factory=dict[str, Any])


Answer = Completion
"""What an entry of the script is called in the fakes of every API."""


Entry: TypeAlias = (
    str | Callable[[Body], str | Completion | Refusal] | Completion | Refusal | Page | Body
)
"""A string is the text of an answer; a function makes an entry of another kind from the request's
body; an object is sent as it is, with the status 200.
"""

# every field can be set: `slow(first_after=2)`, `dropped(stop_after=0)`
slow = partial(Completion, first_after=3600)
dropped = partial(Completion, stop_after=2)
truncated = partial(Completion, text="## Goal\nTo be con", finish_reason="length")
empty = partial(Completion, text="")
tool_call = partial(Completion, text="", finish_reason="tool_calls", tool="Read")
refused = partial(Completion, text="", message={"refusal": "I cannot help with that."})
filtered = partial(Completion, text="## Go", finish_reason="content_filter")
failed = partial(Refusal, 500, "server_error", "The server had an error.")


def rate_limited(retry_after: float | None = None) -> Refusal:
    """429, with the header `retry-after` if seconds are given."""
    headers = {} if retry_after is None else {"retry-after": f"{retry_after:g}"}
    more = {"code": "rate_limit_exceeded"}
    return Refusal(429, "requests", "Rate limit reached for requests", headers, more)


def too_long(tokens: int = 213_462, maximum: int = 200_000) -> Refusal:
    """400: the prompt does not fit the model."""
    message = (
        f"This model's maximum context length is {maximum} tokens. However, your messages resulted "
        f"in {tokens} tokens. Please reduce the length of the messages."
    )
    more = {"code": "context_length_exceeded", "param": "messages"}
    return Refusal(400, "invalid_request_error", message, more=more)


def not_supported(parameter: str, instead: str = "") -> Refusal:
    """400: the model does not know a parameter."""
    message = f"Unsupported parameter: '{parameter}' is not supported with this model."
    if instead:
        message += f" Use '{instead}' instead."
    more = {"code": "unsupported_parameter", "param": parameter}
    return Refusal(400, "invalid_request_error", message, more=more)


class ChatAPI(ScriptedAPI):
    """The server; it runs inside `with`, and leaving the block ends every wait.

    Attributes:
        requests: all so far, in order.
        base_url: what a client is given; it ends in `/v1`.
    """

    end = "data: [DONE]\n\n"

    def __init__(
        self, script: Sequence[Entry] | None = None, *, api_key: str | None = None
    ) -> None:
        """A server with a script; if `api_key` is given, every other key is refused."""
        super().__init__(script or [Completion()], api_key=api_key)
        self.base_url += "/v1"

    def events(self, answer: str | Completion, body: Body) -> Iterator[Body]:
        """The completion, at once or in chunks."""
        return completion_events(Completion(answer) if isinstance(answer, str) else answer, body)

    def error(self, refusal: Refusal) -> Body:
        """The error in the API's form, for an answer or a chunk."""
        known = {"message": refusal.message, "type": refusal.kind, "param": None, "code": None}
        return {"error": known | dict(refusal.more)}

    def encoded(self, event: Body) -> str:
        """A chunk, which has no type."""
        return f"data: {json.dumps(event)}\n\n"


def completion_events(answer: Completion, body: Body) -> Iterator[Body]:
    """The chunks of an answer if the request asks for a stream, or the answer alone."""
    return _chunks(answer, body) if body.get("stream") else iter([_completion(answer, body)])


def _message(answer: Completion, body: Body) -> Body:
    text = answer.text(body) if callable(answer.text) else answer.text
    message: Body = {"role": "assistant", "content": text or None, **answer.message}
    if answer.tool:
        function = {"name": answer.tool, "arguments": "{}"}
        message["tool_calls"] = [{"id": "call_1", "type": "function", "function": function}]
    return message


def _usage(answer: Completion, body: Body) -> Body | None:
    if answer.usage is None:
        return None
    counted = {
        "prompt_tokens": tokens_of(body["messages"]),
        "completion_tokens": tokens_of(_message(answer, body)),
    }
    usage = counted | dict(answer.usage)
    return usage | {"total_tokens": usage["prompt_tokens"] + usage["completion_tokens"]}


def _frame(kind: str, body: Body) -> Body:
    return {"id": "chatcmpl-1", "object": kind, "created": 0, "model": body.get("model", "")}


def _completion(answer: Completion, body: Body) -> Body:
    """The answer in its form without streaming."""
    choice: Body = {"index": 0, "message": _message(answer, body), "logprobs": None}
    choice["finish_reason"] = answer.finish_reason
    usage = _usage(answer, body)
    return _frame("chat.completion", body) | {"choices": [choice], "usage": usage}


def _chunks(answer: Completion, body: Body) -> Iterator[Body]:
    """The chunks in which an answer is streamed; the last has the usage, if it was asked for."""
    frame = _frame("chat.completion.chunk", body)
    message = _message(answer, body)
    texts, calls = halves(message.pop("content") or ""), message.pop("tool_calls", ())
    deltas = [message | {"content": ""}, *({"content": text} for text in texts), *_pieces(calls)]
    for delta in deltas:
        yield frame | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield frame | {"choices": [{"index": 0, "delta": {}, "finish_reason": answer.finish_reason}]}
    usage = _usage(answer, body)
    if usage and body.get("stream_options", {}).get("include_usage"):
        yield frame | {"choices": list[Body](), "usage": usage}


def _pieces(calls: Sequence[Body]) -> Iterator[Body]:
    """The deltas of tool calls: the beginning of each, and its arguments in two halves."""
    for index, call in enumerate(calls):
        function = call["function"]
        begun = {**call, "index": index, "function": {**function, "arguments": ""}}
        yield {"tool_calls": [begun]}
        for part in halves(function["arguments"]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": part}}]}
