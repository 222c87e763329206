r"""A `/responses` with a script, on loopback: OpenAI's real client can use it without costs.

    with ResponsesAPI([rate_limited(retry_after=3), "## Goal\nShip it."]) as api:
        client = AsyncOpenAI(api_key="any", base_url=api.base_url)

Each request takes the next entry of the script; the last entry is repeated. The protocol follows
platform.openai.com/docs/api-reference/responses and its page on streaming events.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias
from zlib import crc32

from context_compression.testing.chat_api import not_supported, rate_limited
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
    "Body", "Entry", "ModelResponse", "Page", "Refusal", "Request", "ResponsesAPI", "dropped",
    "empty", "failed", "function_call", "message", "not_supported", "rate_limited", "reasoning",
    "refused", "response_events", "slow", "too_long", "tool_call", "truncated",
    "without_reasoning",
]  # fmt: skip


@dataclass(frozen=True)
class ModelResponse(Delivery):
    """A response: streamed as events or sent at once, as the request says.

    Attributes:
        text: its text, or a function of the request's body; if it is empty, there is no message.
        status: as the API spells it; `None` if the stream ends too early.
        reason: why it is incomplete.
        tool: name of a tool that it calls.
        before: items before the message, for example `reasoning(...)`.
        output: items behind it, for example `function_call(...)`.
        refusal: a refusal of the model; the text is empty then.
        usage: tokens instead of the counted ones, for example `input_tokens`.
    """

    text: str | Callable[[Body], str] = "## Goal\nAs before."
    status: str | None = "completed"
    reason: str | None = None
    tool: str | None = None
    before: Sequence[Body] = ()
    output: Sequence[Body] = ()
    refusal: str = ""
    usage: Mapping[str, int] = field(default_factory=dict[str, int])


Answer = ModelResponse
"""What an entry of the script is called in the fakes of every API."""

Entry: TypeAlias = str | Callable[[Body], str | ModelResponse | Refusal] | ModelResponse | Refusal
"""A string is the text of an answer; a function makes an entry of another kind from the request's
body.
"""

# every field can be set: `slow(first_after=2)`, `dropped(stop_after=0)`
slow = partial(ModelResponse, first_after=3600)
dropped = partial(ModelResponse, stop_after=5)
truncated = partial(
    ModelResponse, text="## Goal\nTo be con", status="incomplete", reason="max_output_tokens"
)
empty = partial(ModelResponse, text="")
tool_call = partial(ModelResponse, text="Let me look first.", tool="Read")
refused = partial(ModelResponse, text="", refusal="I cannot help with that.")
failed = partial(Refusal, 500, "server_error", "The server had an error.")


def too_long() -> Refusal:
    """400: the input does not fit the model."""
    message = (
        "Your input exceeds the context window of this model. Please adjust your input and try "
        "again."
    )
    more = {"code": "context_length_exceeded", "param": "input"}
    return Refusal(400, "invalid_request_error", message, more=more)


def without_reasoning(item: str, kind: str, reasoning: str) -> Refusal:
    """400: an item that came of a `reasoning` item is sent back without it."""
    message = (
        f"Item '{item}' of type '{kind}' was provided without its required 'reasoning' item: "
        f"'{reasoning}'."
    )
    return Refusal(400, "invalid_request_error", message, more={"param": "input"})


def reasoning(id: str, encrypted: str, *summaries: str) -> Body:
    """A `reasoning` item, whose content only OpenAI can read."""
    parts = [{"type": "summary_text", "text": text} for text in summaries]
    return {"type": "reasoning", "id": id, "summary": parts, "encrypted_content": encrypted}


def message(id: str, text: str) -> Body:
    """An item with a text of the model."""
    part = {"type": "output_text", "text": text, "annotations": list[Any]()}
    about = {"type": "message", "id": id, "role": "assistant"}
    return about | {"content": [part], "status": "completed"}


def function_call(call_id: str, name: str, /, **arguments: Any) -> Body:
    """An item that calls a function of the client."""
    about = {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": name}
    return about | {"arguments": json.dumps(arguments), "status": "completed"}


class ResponsesAPI(ScriptedAPI):
    """The server; it runs inside `with`, and leaving the block ends every wait.

    Attributes:
        requests: all so far, in order.
        base_url: what a client is given; it ends in `/v1`.
    """

    def __init__(
        self, script: Sequence[Entry] | None = None, *, api_key: str | None = None
    ) -> None:
        """A server with a script; if `api_key` is given, every other key is refused."""
        super().__init__(script or [ModelResponse()], api_key=api_key)
        self.base_url += "/v1"

    def events(self, answer: str | ModelResponse, body: Body) -> Iterator[Body]:
        """The response, at once or in events."""
        answer = ModelResponse(answer) if isinstance(answer, str) else answer
        events = response_events(answer, body)
        return iter(events) if body.get("stream") else iter([events[-1]["response"]])

    def error(self, refusal: Refusal) -> Body:
        """The error in the API's form, for an answer or an event."""
        known = {"message": refusal.message, "type": refusal.kind, "param": None, "code": None}
        return {"error": known | dict(refusal.more)}

    def encoded(self, event: Body) -> str:
        """An event with its type; an error has its parts at the top there."""
        if "error" in event and "type" not in event:
            event = {**event["error"], "type": "error"}
        return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"


def response_events(answer: ModelResponse, body: Body) -> list[Body]:
    """The events in which an answer is streamed; the last has the complete response, if it ends."""
    response = _response(answer, body)
    begun: Body = response | {"output": list[Body](), "status": "in_progress", "usage": None}
    events: list[Body] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
    ]
    for index, item in enumerate(response["output"]):
        events += ({**event, "output_index": index} for event in _of_item(item))
    if answer.status:
        events.append({"type": f"response.{answer.status}", "response": response})
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def _response(answer: ModelResponse, body: Body) -> Body:
    """The answer in its form without streaming."""
    exchange = json.dumps([body["input"], [*answer.output]])
    unique = f"{crc32(exchange.encode()):08x}"
    text = answer.text(body) if callable(answer.text) else answer.text
    output = [*answer.before]
    if text:
        output.append(message(f"msg_{unique}", text))
    if answer.refusal:
        part = {"type": "refusal", "refusal": answer.refusal}
        output.append(message(f"msg_{unique}", "") | {"content": [part]})
    if answer.tool:
        output.append(function_call("call_1", answer.tool))
    output += answer.output
    counted = {"input_tokens": tokens_of(body["input"]), "output_tokens": tokens_of(output)}
    usage = counted | dict(answer.usage)
    usage["total_tokens"] = usage["input_tokens"] + usage["output_tokens"]
    return {
        "id": f"resp_{unique}",
        "object": "response",
        "created_at": 0,
        "status": answer.status,
        "error": None,
        "incomplete_details": {"reason": answer.reason} if answer.reason else None,
        "instructions": None,
        "model": body.get("model", ""),
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": body.get("tools", []),
        "usage": usage,
    }


EMPTY: Mapping[str, Body] = {
    "message": {"content": []},
    "reasoning": {"summary": []},
    "function_call": {"arguments": ""},
}
"""What the first event of an item leaves to later ones, by its type."""


def _of_item(item: Body) -> Iterator[Body]:
    """The events of one item; those of kinds without pieces begin and end alone."""
    pieces = {"message": _of_message, "reasoning": _of_reasoning, "function_call": _of_call}
    started = {"status": "in_progress"} if "status" in item else {}
    empty = EMPTY.get(item["type"], {})
    yield {"type": "response.output_item.added", "item": item | started | empty}
    if make := pieces.get(item["type"]):
        for event in make(item):
            yield {"item_id": item["id"], **event, "type": f"response.{event['type']}"}
    yield {"type": "response.output_item.done", "item": item}


def _of_message(item: Body) -> Iterator[Body]:
    for index, part in enumerate(item["content"]):
        kind = "refusal" if part["type"] == "refusal" else "text"
        name = {"refusal": "refusal", "text": "output_text"}[kind]
        at: Body = {"content_index": index}
        yield {**at, "type": "content_part.added", "part": {**part, kind: ""}}
        for delta in halves(part[kind]):
            yield {**at, "type": f"{name}.delta", "delta": delta}
        yield {**at, "type": f"{name}.done", kind: part[kind]}
        yield {**at, "type": "content_part.done", "part": part}


def _of_reasoning(item: Body) -> Iterator[Body]:
    for index, part in enumerate(item["summary"]):
        at: Body = {"summary_index": index}
        yield {**at, "type": "reasoning_summary_part.added", "part": {**part, "text": ""}}
        for delta in halves(part["text"]):
            yield {**at, "type": "reasoning_summary_text.delta", "delta": delta}
        yield {**at, "type": "reasoning_summary_text.done", "text": part["text"]}
        yield {**at, "type": "reasoning_summary_part.done", "part": part}


def _of_call(item: Body) -> Iterator[Body]:
    for delta in halves(item["arguments"]):
        yield {"type": "function_call_arguments.delta", "delta": delta}
    yield {"type": "function_call_arguments.done", "arguments": item["arguments"]}
