"""Agents that speak to a provider through the real SDKs: a loop of requests and one tool.

    history = await KINDS["anthropic-stream"](url, "a", ["Go on."])

An agent asks until the model calls no tool; then the user says the next of their words. It keeps
its history as its SDK gives it, and knows nothing of `context_restore`.
"""

import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol, TypeAlias, cast

import anthropic
import httpx2
import openai
from scripted_agent import file_text, task
from wires import CHAT, MESSAGES, RESPONSES, Wire

Json: TypeAlias = dict[str, Any]
ABOUT = {"name": "logs", "description": "Prints a file of a build."}
SCHEMA: Json = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "number": {"type": "integer"}},
    "required": ["name", "number"],
}
SYSTEM = "You are a careful engineer. Read every file before you answer."
KEY = "sk-test-of-an-agent"
TRIES = 8
"""Of the SDK for each request, and of the agent when a stream breaks off."""
BROKEN = (anthropic.APIConnectionError, openai.APIConnectionError, httpx2.TransportError)


class Asks(Protocol):
    """One request of an SDK: what the model said, as items of the history, and its calls."""

    def __call__(self, history: list[Json], /) -> Awaitable[tuple[list[Json], list[Json]]]:
        """The items, and results for the calls among them."""
        ...


async def loop(asks: Asks, name: str, words: Sequence[str]) -> list[Json]:
    """The history of an agent's work, when the user has said all."""
    history: list[Json] = []
    for said in (task(name), *words):
        history.append({"role": "user", "content": said})
        while True:
            items, results = await _until_whole(asks, history)
            history += items
            if not results:
                break
            history += results
    return history


async def _until_whole(asks: Asks, history: list[Json]) -> tuple[list[Json], list[Json]]:
    """What the model said; asked again if the connection broke off within a stream."""
    for _ in range(TRIES):
        with suppress(*BROKEN):
            return await asks(history)
    return await asks(history)


def read(name: str, arguments: Any) -> str:
    """What the tool of an agent returns."""
    given = json.loads(arguments) if isinstance(arguments, str) else arguments
    assert name == ABOUT["name"], f"the client has no tool {name}"
    return file_text(given["name"], given["number"])


async def with_anthropic(
    url: str,
    name: str,
    words: Sequence[str] = (),
    *,
    stream: bool,
    heard: Callable[[str], None] = lambda _: None,
) -> Any:
    """An agent with the SDK of Anthropic; `heard` is told each piece of a streamed text."""
    client: Any = anthropic.AsyncAnthropic(api_key=KEY, base_url=url, max_retries=TRIES)
    tools: Any = [{**ABOUT, "input_schema": SCHEMA}]

    async def asks(history: list[Json]) -> tuple[list[Json], list[Json]]:
        request: Any = {
            "model": "claude-opus-5-5",
            "max_tokens": 1_000,
            "system": [{"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral"}}],
            "tools": tools,
            "messages": history,
            "metadata": {"user_id": f"user-of-{name}"},
        }
        if stream:
            async with client.messages.stream(**request) as streaming:
                async for text in streaming.text_stream:
                    heard(text)
                answer = await streaming.get_final_message()
        else:
            answer = await client.messages.create(**request)
        content = [block.to_dict() for block in answer.content]
        results = [
            {
                "type": "tool_result",
                "tool_use_id": block.id,
                "content": read(block.name, block.input),
            }
            for block in answer.content
            if block.type == "tool_use"
        ]
        answered: list[Json] = [{"role": "user", "content": results}] if results else []
        return [{"role": "assistant", "content": content}], answered

    async with client:
        return await loop(asks, name, words)


async def with_chat(url: str, name: str, words: Sequence[str] = (), *, stream: bool) -> Any:
    """An agent with the SDK of OpenAI, on Chat Completions."""
    client: Any = openai.AsyncOpenAI(api_key=KEY, base_url=url, max_retries=TRIES)
    tools: Any = [{"type": "function", "function": {**ABOUT, "parameters": SCHEMA}}]

    async def asks(history: list[Json]) -> tuple[list[Json], list[Json]]:
        messages = [{"role": "system", "content": SYSTEM}, *history]
        request: Any = {"model": "gpt-5", "messages": messages, "tools": tools}
        if stream:
            told = {"stream_options": {"include_usage": True}}
            async with client.chat.completions.stream(**request, **told) as streaming:
                answer: Any = await streaming.get_final_completion()
        else:
            answer = await client.chat.completions.create(**request)
        said = answer.choices[0].message
        results: list[Json] = [
            {
                "role": "tool",
                "tool_call_id": call.id,
                "content": read(call.function.name, call.function.arguments),
            }
            for call in said.tool_calls or ()
        ]
        item: Json = {"role": "assistant", "content": said.content}
        if said.tool_calls:
            functions = [(c.id, c.function.name, c.function.arguments) for c in said.tool_calls]
            item["tool_calls"] = [
                {"id": id, "type": "function", "function": {"name": n, "arguments": given}}
                for id, n, given in functions
            ]
        return [item], results

    async with client:
        return await loop(asks, name, words)


async def with_responses(url: str, name: str, words: Sequence[str] = (), *, stream: bool) -> Any:
    """An agent with the SDK of OpenAI, on Responses, which keeps the history itself."""
    client: Any = openai.AsyncOpenAI(api_key=KEY, base_url=url, max_retries=TRIES)
    tools: Any = [{"type": "function", **ABOUT, "parameters": SCHEMA, "strict": False}]

    async def asks(history: list[Json]) -> tuple[list[Json], list[Json]]:
        request: Any = {
            "model": "gpt-5",
            "instructions": SYSTEM,
            "input": history,
            "tools": tools,
            "store": False,
            "include": ["reasoning.encrypted_content"],
        }
        if stream:
            async with client.responses.stream(**request) as streaming:
                answer: Any = await streaming.get_final_response()
        else:
            answer = await client.responses.create(**request)
        kept = {"parsed_arguments", "parsed"}  # the stream's own additions
        items: list[Json] = [item.to_dict(exclude_none=True) for item in answer.output]
        items = [_without(item, kept) for item in items]
        results: list[Json] = [
            {
                "type": "function_call_output",
                "call_id": item["call_id"],
                "output": read(item["name"], item["arguments"]),
            }
            for item in items
            if item["type"] == "function_call"
        ]
        return items, results

    async with client:
        return await loop(asks, name, words)


def _without(value: Any, names: set[str]) -> Any:
    if isinstance(value, dict):
        held = cast("Mapping[str, Any]", value)
        return {name: _without(v, names) for name, v in held.items() if name not in names}
    if isinstance(value, list):
        return [_without(each, names) for each in cast("list[Any]", value)]
    return value


Agent: TypeAlias = Callable[..., Coroutine[Any, Any, list[Json]]]
AGENTS: Mapping[str, tuple[Wire, Agent]] = {
    "messages": (MESSAGES, with_anthropic),
    "chat": (CHAT, with_chat),
    "responses": (RESPONSES, with_responses),
}
"""An agent for each API."""
