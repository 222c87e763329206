"""Calls of `context_restore` in the responses of LiteLLM's three APIs, and their answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from context_compression.conversation.formats.responses import CALLS
from context_compression.conversation.messages import is_object
from context_compression.session.restoring import RESTORE, RestoreTool

Json: TypeAlias = dict[str, Any]
Answers: TypeAlias = Mapping[str, str]


@dataclass(frozen=True)
class Call:
    """A call of our tool.

    Attributes:
        id: of the call.
        arguments: as an object, or as its JSON.
    """

    id: str
    arguments: Any


@dataclass(frozen=True)
class Api:
    """One API of the proxy: the names of its fields, and its form of calls and results.

    Attributes:
        name: of the API.
        messages: the field of a request with the messages.
        system: the field with the system prompt, if it is outside the messages.
        tool: the definition of our tool.
        calls: the calls of our tool in a response.
        exchange: the messages that continue a request, from the response and the answers by the ids
            of the calls. Calls without an answer are left out; the model makes them again.
    """

    name: str
    messages: str
    system: str | None
    tool: Callable[[RestoreTool], Json]
    calls: Callable[[Json], list[Call]]
    exchange: Callable[[Json, Answers], list[Json]]

    async def answered(self, response: Json, tool: RestoreTool) -> list[Json]:
        """The messages that continue a request whose response calls our tool."""
        calls = self.calls(response)
        answers = {call.id: await tool.aanswer(call.arguments) for call in calls}
        return self.exchange(response, answers)


def as_dict(response: Any) -> Json:
    """A response of LiteLLM as a dict."""
    return dict(response) if is_object(response) else response.model_dump(exclude_none=True)


def name_of(tool: Any) -> Any:
    """The name of a tool, from its definition or a call of it in any of the APIs; else `None`."""
    places = (tool, tool.get("function")) if is_object(tool) else ()
    return next((place["name"] for place in places if is_object(place) and "name" in place), None)


def _chat_calls(response: Json) -> list[Call]:
    message = response["choices"][0]["message"]
    return [
        Call(call["id"], call["function"]["arguments"])
        for call in message.get("tool_calls") or ()
        if name_of(call) == RESTORE
    ]


def _chat_exchange(response: Json, answers: Answers) -> list[Json]:
    message = response["choices"][0]["message"]
    called = [call for call in message["tool_calls"] if call["id"] in answers]
    results = [
        {"role": "tool", "tool_call_id": id, "content": text} for id, text in answers.items()
    ]
    return [{"content": None, **message, "tool_calls": called}, *results]


def _messages_calls(response: Json) -> list[Call]:
    return [
        Call(block["id"], block.get("input"))
        for block in response.get("content") or ()
        if block.get("type") == "tool_use" and block.get("name") == RESTORE
    ]


def _messages_exchange(response: Json, answers: Answers) -> list[Json]:
    said = [
        block
        for block in response["content"]
        if block.get("type") != "tool_use" or block["id"] in answers
    ]
    results = [
        {"type": "tool_result", "tool_use_id": id, "content": text} for id, text in answers.items()
    ]
    return [{"role": "assistant", "content": said}, {"role": "user", "content": results}]


def _responses_calls(response: Json) -> list[Call]:
    return [
        Call(item["call_id"], item.get("arguments"))
        for item in response.get("output") or ()
        if item.get("type") == "function_call" and item.get("name") == RESTORE
    ]


def _responses_exchange(response: Json, answers: Answers) -> list[Json]:
    said = [
        item
        for item in response["output"]
        if item.get("type") not in CALLS or item.get("call_id") in answers
    ]
    results = [
        {"type": "function_call_output", "call_id": id, "output": text}
        for id, text in answers.items()
    ]
    return [*said, *results]


CHAT = Api("chat", "messages", None, lambda tool: tool.openai, _chat_calls, _chat_exchange)
MESSAGES = Api(
    "messages", "messages", "system", lambda tool: tool.anthropic, _messages_calls,
    _messages_exchange,
)  # fmt: skip
RESPONSES = Api(
    "responses", "input", "instructions", lambda tool: tool.openai_responses, _responses_calls,
    _responses_exchange,
)  # fmt: skip
