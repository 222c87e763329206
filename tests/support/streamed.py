"""Responses of the three APIs, as streams of server-sent events and as the official SDKs read them.

A response is given in its form without streaming; the events follow the documentation of each API.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import anthropic
import httpx2
import openai

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Style:
    """How a provider writes events: all of this means the same.

    Attributes:
        line_end: after each line.
        named: whether events have a line with their name.
        spread: whether JSON is spread over lines.
        space: after the colon.
        comment: before each event.
        start: at the beginning of the stream.
    """

    line_end: str = "\n"
    named: bool = True
    spread: bool = False
    space: str = " "
    comment: str = ""
    start: str = ""

    def written(self, events: Sequence[Json | str]) -> bytes:
        """The bytes of events; a string is data as it stands."""
        lines = [line for event in events for line in self._lines(event)]
        return (self.start + "".join(line + self.line_end for line in lines)).encode()

    def _lines(self, event: Json | str) -> Iterator[str]:
        if self.comment:
            yield f":{self.comment}"
        if self.named and not isinstance(event, str) and "type" in event:
            yield f"event:{self.space}{event['type']}"
        indent = 1 if self.spread else None
        data = event if isinstance(event, str) else json.dumps(event, indent=indent)
        yield from (f"data:{self.space}{line}" for line in data.split("\n"))
        yield ""


def pieces(text: str, size: int = 4) -> list[str]:
    """A text as a model says it."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def messages_events(message: Json) -> Iterator[Json]:
    """The events of Anthropic's Messages."""
    usage, content = message["usage"], message["content"]
    start: Json = {"content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    yield {"type": "message_start", "message": {**message, **start}}
    yield {"type": "ping"}
    for index, block in enumerate(content):
        begun, deltas = _begun_block(block)
        yield {"type": "content_block_start", "index": index, "content_block": begun}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    output = {name: usage[name] for name in ("output_tokens", "server_tool_use") if name in usage}
    stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": output}
    yield {"type": "message_stop"}


def _begun_block(block: Json) -> tuple[Json, list[Json]]:
    match block:
        case {"type": "text", "text": text, **rest}:
            deltas = [{"type": "text_delta", "text": piece} for piece in pieces(text)]
            cited = [
                {"type": "citations_delta", "citation": each}
                for each in rest.get("citations") or ()
            ]
            return {"type": "text", "text": ""}, deltas + cited
        case {"type": "thinking", "thinking": text, "signature": signature}:
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(text)]
            signed = {"type": "signature_delta", "signature": signature}
            return {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signed]
        case {"type": "tool_use" | "server_tool_use", "input": arguments}:
            parts = ["", *pieces(json.dumps(arguments))]
            deltas = [{"type": "input_json_delta", "partial_json": part} for part in parts]
            return {**block, "input": {}}, deltas
        case _:
            return block, []


def chat_events(completion: Json) -> Iterator[Json | str]:
    """The chunks of Chat Completions, with usage."""
    frame = {name: completion[name] for name in completion if name not in ("choices", "usage")}
    frame |= {"object": "chat.completion.chunk", "usage": None}
    (choice,) = completion["choices"]
    message = choice["message"]
    texts = [
        {name: piece}
        for name in ("reasoning_content", "content")
        for piece in pieces(message.get(name) or "")
    ]
    deltas: list[Json] = [
        {"role": "assistant", "content": None if not texts else "", "refusal": None},
        *texts,
    ]
    for index, call in enumerate(message.get("tool_calls") or ()):
        function = call["function"]
        begun: Json = {**call, "index": index, "function": {**function, "arguments": ""}}
        deltas.append({"tool_calls": [begun]})
        deltas += [
            {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
            for piece in pieces(function["arguments"])
        ]
    for delta in [*deltas, {}]:
        reason = None if delta else choice["finish_reason"]
        part = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        yield {**frame, "choices": [part]}
    yield {**frame, "choices": [], "usage": completion["usage"]}
    yield "[DONE]"


def responses_events(response: Json) -> Iterator[Json]:
    """The events of Responses, numbered."""
    begun: Json = {**response, "status": "in_progress", "output": [], "usage": None}
    events: list[Json] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
    ]
    for index, item in enumerate(response["output"]):
        events += [{**event, "output_index": index} for event in _item_events(item)]
    events.append({"type": f"response.{response['status']}", "response": response})
    for number, event in enumerate(events):
        yield {**event, "sequence_number": number}


def _item_events(item: Json) -> Iterator[Json]:
    match item:
        case {"type": "message", "id": id, "content": [{"text": text} as part]}:
            place = {"item_id": id, "content_index": 0}
            begun: Json = {**item, "content": []}
            yield {"type": "response.output_item.added", "item": begun}
            empty = {**part, "text": ""}
            yield {"type": "response.content_part.added", **place, "part": empty}
            for piece in pieces(text):
                yield {"type": "response.output_text.delta", **place, "delta": piece}
            yield {"type": "response.output_text.done", **place, "text": text}
            yield {"type": "response.content_part.done", **place, "part": part}
        case {"type": "function_call", "id": id, "arguments": arguments, "name": name}:
            yield {"type": "response.output_item.added", "item": {**item, "arguments": ""}}
            for piece in pieces(arguments):
                kind = "response.function_call_arguments.delta"
                yield {"type": kind, "item_id": id, "delta": piece}
            done = {"item_id": id, "name": name, "arguments": arguments}
            yield {"type": "response.function_call_arguments.done", **done}
        case _:
            yield {"type": "response.output_item.added", "item": item}
    yield {"type": "response.output_item.done", "item": item}


def events_of(api: str, response: Json) -> list[Any]:
    """The events of a response, by the name of its API."""
    make: Mapping[str, Any] = {
        "messages": messages_events, "chat": chat_events, "responses": responses_events,
    }  # fmt: skip
    return list(make[api](response))


def as_read_by_the_sdk(api: str, stream: bytes) -> Json:
    """What the official SDK makes of a stream."""

    messages: Any = [{"role": "user", "content": "Go."}]
    for_anthropic, for_openai = _clients(stream)
    if api == "messages":
        with for_anthropic.messages.stream(max_tokens=9, model="m", messages=messages) as events:
            return events.get_final_message().to_dict()
    if api == "chat":
        with for_openai.chat.completions.stream(model="m", messages=messages) as chunks:
            return chunks.get_final_completion().to_dict()
    with for_openai.responses.stream(model="m", input="Go.") as steps:
        return steps.get_final_response().to_dict()


def _clients(stream: bytes) -> tuple[anthropic.Anthropic, openai.OpenAI]:
    """Clients whose provider answers with a stream."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        headers = {"content-type": "text/event-stream"}
        return httpx2.Response(200, headers=headers, content=stream)

    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    given: Any = {"api_key": "any", "http_client": http, "max_retries": 0}
    return anthropic.Anthropic(**given), openai.OpenAI(**given)
