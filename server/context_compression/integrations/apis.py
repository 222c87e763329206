"""The APIs of providers: where a request has its messages, and how a response calls our tool."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from context_compression.conversation.formats.responses import CALLS
from context_compression.conversation.messages import is_array, is_object
from context_compression.session.restoring import RESTORE, RestoreTool

Json: TypeAlias = dict[str, Any]
Answers: TypeAlias = Mapping[str, str]


@dataclass(frozen=True)
class RestoreCall:
    """A call of our tool.

    Attributes:
        id: of the call.
        arguments: as an object, or as its JSON.
    """

    id: str
    arguments: Any


@dataclass(frozen=True)
class Api:
    """One API of a provider: the names of its fields, and its form of calls and results.

    Attributes:
        name: of the API.
        messages: the field of a request with the messages.
        system: the field with the system prompt, if it is outside the messages.
        tool: the definition of our tool.
        calls: the calls of our tool in a response.
        exchange: the messages that continue a request, from the response and the answers by the ids
            of the calls: a result for each call, also where a model gives two the same id. Calls
            without an answer are left out; the model makes them again.
    """

    name: str
    messages: str
    system: str | None
    tool: Callable[[RestoreTool], Mapping[str, Any]]
    calls: Callable[[Json], list[RestoreCall]]
    exchange: Callable[[Json, Answers], list[Json]]

    async def answered(self, response: Json, tool: RestoreTool) -> list[Json]:
        """The messages that continue a request whose response calls our tool."""
        return self.exchange(response, await answers_to(self.calls(response), tool))


async def answers_to(calls: Iterable[RestoreCall], tool: RestoreTool) -> Answers:
    """What our tool answers to some calls, by their ids."""
    return {call.id: await tool.aanswer(call.arguments) for call in calls}


def name_of(tool: Any) -> Any:
    """The name of a tool, from its definition or a call of it in any of the APIs; else `None`."""
    places = (tool, tool.get("function")) if is_object(tool) else ()
    return next((place["name"] for place in places if is_object(place) and "name" in place), None)


def _chat_calls(response: Json) -> list[RestoreCall]:
    message = response["choices"][0]["message"]
    return [
        RestoreCall(call["id"], call["function"]["arguments"])
        for call in message.get("tool_calls") or ()
        if name_of(call) == RESTORE
    ]


def _chat_exchange(response: Json, answers: Answers) -> list[Json]:
    message = response["choices"][0]["message"]
    called = [call for call in message["tool_calls"] if call["id"] in answers]
    results = [
        {"role": "tool", "tool_call_id": call["id"], "content": answers[call["id"]]}
        for call in called
    ]
    return [{"content": None, **message, "tool_calls": called}, *results]


def _messages_calls(response: Json) -> list[RestoreCall]:
    return [
        RestoreCall(block["id"], block.get("input"))
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
        {"type": "tool_result", "tool_use_id": block["id"], "content": answers[block["id"]]}
        for block in said
        if block.get("type") == "tool_use"
    ]
    return [{"role": "assistant", "content": said}, {"role": "user", "content": results}]


def _responses_calls(response: Json) -> list[RestoreCall]:
    return [
        RestoreCall(item["call_id"], item.get("arguments"))
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
        {"type": "function_call_output", "call_id": id, "output": answers[id]}
        for id in (item.get("call_id") for item in said if item.get("type") in CALLS)
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


REFERENCE = frozenset({"type", "id"})
"""All that an item has which stands for one on OpenAI's server."""


def is_on_server(data: Mapping[str, Any]) -> bool:
    """Whether OpenAI's server has the history, or items of it, and the request only what is new.

    The AI SDK names what the model said by `item_reference`, and results of calls stand alone.
    """
    items = data.get("input")
    return bool(data.get("previous_response_id") or data.get("conversation")) or (
        is_array(items)
        and any(is_object(item) and {"id"} <= item.keys() <= REFERENCE for item in items)
    )
