"""The three APIs of a proxy, for a scripted agent and the checks of what it is sent.

`MESSAGES`, `CHAT` and `RESPONSES` read requests in the terms of one agent, and write its moves.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from provider.reading import blocks, is_list, is_object, kind

from context_compression.testing import chat_api, messages_api, responses_api
from context_compression.testing.scripted_api import Refusal, ScriptedAPI

Json: TypeAlias = dict[str, Any]


class Call(NamedTuple):
    """A tool call of the model."""

    id: str
    name: str
    arguments: Mapping[str, Any]


class Result(NamedTuple):
    """What a tool returned."""

    call: str
    text: str


@dataclass(frozen=True)
class Move:
    """What the model does with a request: it says something and calls tools, or ends its turn.

    Attributes:
        says: a text.
        calls: of tools.
        thought: what it thinks before, if it does.
        sealed: what binds the thought, made by the provider.
        delivery: further arguments of `Delivery`.
    """

    says: str
    calls: Sequence[Call] = ()
    thought: str = ""
    sealed: str = ""
    delivery: Mapping[str, Any] | None = None


class Wire(ABC):
    """One API.

    Attributes:
        server: its scripted server.
        dialect: the name of its rules in `provider`.
        path: of its requests, behind the address of the provider.
        field: of a request, with the messages.
        beside: the fields that stand before the messages in a prompt.
    """

    server: type[ScriptedAPI]
    dialect: str
    path: str
    field: str
    beside: tuple[str, str]

    def items(self, body: Json) -> list[Json]:
        """The messages of a request."""
        found: Any = body[self.field]
        return found if is_list(found) else [{"role": "user", "content": found}]

    def prompt(self, body: Json) -> list[str]:
        """All that the model reads, in order: system prompt, tools, and each block of a message.

        Marks of the cache are no content, and what is null is as if it were not there.
        """
        front = [body.get(name) for name in self.beside]
        return [canonical(part) for part in (*front, *self.parts(body))]

    def parts(self, body: Json) -> Iterator[Any]:
        """Role and block of each block; consecutive messages of a role are one."""
        for item in self.items(body):
            yield from ([item.get("role"), block] for block in blocks(item))

    @abstractmethod
    def calls(self, items: Sequence[Json]) -> list[Call]:
        """The calls in messages, in order."""

    @abstractmethod
    def results(self, items: Sequence[Json]) -> list[Result]:
        """The results in messages, in order."""

    @abstractmethod
    def is_said(self, item: Json) -> bool:
        """Whether the model made a message."""

    def said(self, items: Sequence[Json]) -> list[str]:
        """The texts of the model in messages, in order."""
        told = (block for item in items if self.is_said(item) for block in blocks(item))
        return [block["text"] for block in told if kind(block) in ("text", "output_text")]

    @abstractmethod
    def answer(self, move: Move, tokens: int) -> Any:
        """A move as an entry of the server's script."""

    @abstractmethod
    def too_long(self, tokens: int, window: int) -> Refusal:
        """The refusal of a prompt that does not fit."""

    @abstractmethod
    def unpaired(self, ids: Sequence[str]) -> Refusal:
        """The refusal of calls without a result."""

    def tail(self, items: Sequence[Json]) -> list[Result]:
        """The results behind the last thing that the model said."""
        ends = next((n for n in range(len(items), 0, -1) if self.is_said(items[n - 1])), 0)
        return self.results(items[ends:])

    def tools(self, body: Json) -> list[str]:
        """The names of the tools in a request, those in a namespace of Codex too."""
        named = [tool.get("function", tool) for tool in body.get("tools") or ()]
        inside = [each for tool in named for each in tool.get("tools", ())]
        return [str(tool.get("name")) for tool in (*named, *inside)]


class _Messages(Wire):
    server, dialect, path = messages_api.MessagesAPI, "anthropic", "/v1/messages"
    field, beside = "messages", ("system", "tools")

    def calls(self, items: Sequence[Json]) -> list[Call]:
        return [
            Call(block["id"], block["name"], block["input"])
            for item in items
            for block in blocks(item)
            if kind(block) == "tool_use"
        ]

    def results(self, items: Sequence[Json]) -> list[Result]:
        return [
            Result(block["tool_use_id"], text_of(block.get("content")))
            for item in items
            for block in blocks(item)
            if kind(block) == "tool_result"
        ]

    def is_said(self, item: Json) -> bool:
        return item["role"] == "assistant"

    def answer(self, move: Move, tokens: int) -> Any:
        content: list[Json] = []
        if move.thought:
            about = {"type": "thinking", "thinking": move.thought, "signature": move.sealed}
            content.append(about)
        content.append({"type": "text", "text": move.says})
        for call in move.calls:
            about = {"type": "tool_use", "id": call.id, "name": call.name}
            content.append(about | {"input": dict(call.arguments)})
        stop = "tool_use" if move.calls else "end_turn"
        usage = {"input_tokens": tokens}
        return messages_api.Answer("", stop, content=content, usage=usage, **(move.delivery or {}))

    def too_long(self, tokens: int, window: int) -> Refusal:
        return messages_api.too_long(tokens, window)

    def unpaired(self, ids: Sequence[str]) -> Refusal:
        message = (
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately "
            f"after: {', '.join(ids)}. Each `tool_use` block must have a corresponding "
            "`tool_result` block in the next message."
        )
        return Refusal(400, "invalid_request_error", message)


class _Chat(Wire):
    server, dialect, path = chat_api.ChatAPI, "openai", "/chat/completions"
    field, beside = "messages", ("tools", "response_format")

    def parts(self, body: Json) -> Iterator[Any]:
        yield from self.items(body)

    def calls(self, items: Sequence[Json]) -> list[Call]:
        made = [call for item in items for call in item.get("tool_calls") or ()]
        return [
            Call(call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))
            for call in made
        ]

    def results(self, items: Sequence[Json]) -> list[Result]:
        return [
            Result(item["tool_call_id"], text_of(item["content"]))
            for item in items
            if item["role"] == "tool"
        ]

    def is_said(self, item: Json) -> bool:
        return item["role"] == "assistant"

    def answer(self, move: Move, tokens: int) -> Any:
        calls = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
            }
            for call in move.calls
        ]
        return chat_api.Completion(
            move.says,
            "tool_calls" if calls else "stop",
            message={"tool_calls": calls} if calls else {},
            usage={"prompt_tokens": tokens},
            **(move.delivery or {}),
        )

    def too_long(self, tokens: int, window: int) -> Refusal:
        return chat_api.too_long(tokens, window)

    def unpaired(self, ids: Sequence[str]) -> Refusal:
        message = (
            "An assistant message with 'tool_calls' must be followed by tool messages responding "
            "to each 'tool_call_id'. The following tool_call_ids did not have response messages: "
            f"{', '.join(ids)}"
        )
        return Refusal(400, "invalid_request_error", message, more={"param": "messages"})


class _Responses(Wire):
    server, dialect, path = responses_api.ResponsesAPI, "responses", "/responses"
    field, beside = "input", ("instructions", "tools")

    def parts(self, body: Json) -> Iterator[Any]:
        yield from self.items(body)

    def calls(self, items: Sequence[Json]) -> list[Call]:
        return [
            Call(item["call_id"], item["name"], json.loads(item["arguments"]))
            for item in items
            if kind(item) == "function_call"
        ]

    def results(self, items: Sequence[Json]) -> list[Result]:
        return [
            Result(item["call_id"], text_of(item["output"]))
            for item in items
            if kind(item) == "function_call_output"
        ]

    def is_said(self, item: Json) -> bool:
        return kind(item) in ("reasoning", "function_call") or item.get("role") == "assistant"

    def answer(self, move: Move, tokens: int) -> Any:
        calls = [responses_api.function_call(c.id, c.name, **c.arguments) for c in move.calls]
        usage = {"input_tokens": tokens}
        says, before = move.says, list[Json]()
        if move.thought:
            id, says = move.sealed[:24], ""
            before = [
                responses_api.reasoning(f"rs_{id}", move.sealed, move.thought),
                responses_api.message(f"msg_{id}", move.says),
            ]
        return responses_api.ModelResponse(
            says, before=before, output=calls, usage=usage, **(move.delivery or {})
        )

    def too_long(self, tokens: int, window: int) -> Refusal:
        return responses_api.too_long()

    def unpaired(self, ids: Sequence[str]) -> Refusal:
        message = f"No tool output found for function call {ids[0]}."
        return Refusal(400, "invalid_request_error", message, more={"param": "input"})


MESSAGES, CHAT, RESPONSES = _Messages(), _Chat(), _Responses()
WIRES: Mapping[str, Wire] = {"messages": MESSAGES, "chat": CHAT, "responses": RESPONSES}


def text_of(content: Any) -> str:
    """The text of a result: a string, or a list of parts."""
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content or () if is_object(part))


def canonical(value: Any) -> str:
    """JSON with sorted keys, without cache marks and without what is null."""
    return json.dumps(_bare(value), ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _bare(value: Any) -> Any:
    if is_object(value):
        kept = {name: v for name, v in value.items() if name != "cache_control" and v is not None}
        return {name: _bare(v) for name, v in kept.items()}
    return [_bare(each) for each in value] if is_list(value) else value
