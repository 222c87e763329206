"""Programs with the types of their clients, for a strict type checker; no cast, no `Any`.

`test_types.py` checks them with pyright and runs them. The loops of tutorials are in `examples/`.
"""

from typing import Any, Literal, TypedDict, assert_type

from anthropic import Anthropic, AsyncAnthropic
from anthropic.types import MessageParam, ToolParam
from openai import AsyncOpenAI, OpenAI
from openai.types.chat import ChatCompletionMessageParam
from openai.types.responses import ResponseInputItemParam

from context_compression import (
    Result,
    Session,
    Settings,
    acompress,
    compress,
    count_tokens,
    restore_tool,
    should_compress,
    usage,
)

MINE: ToolParam = {"name": "mine", "input_schema": {"type": "object"}}


class Said(TypedDict):
    """A message as a program of its own may write it."""

    role: Literal["user", "assistant"]
    content: str


def of_anthropic(client: Anthropic, session: Session, history: list[MessageParam]) -> None:
    """Every door with Anthropic's own types."""
    restore = restore_tool(session)
    tools = [MINE, restore.anthropic]
    result = compress(history, target_tokens=1_000_000, tools=tools)
    assert_type(result, Result[MessageParam])
    assert_type(session.fit(history, tools=tools), list[MessageParam])

    client.messages.create(
        model="claude-sonnet-5", max_tokens=9, tools=tools, messages=session.fit(history)
    )
    client.messages.create(
        model="claude-sonnet-5", max_tokens=9, tools=[MINE, restore.anthropic],
        messages=result.messages,
    )  # fmt: skip
    sent = session.fit(history)
    if (again := session.recover("context_length_exceeded")) is not None:
        sent = again
    client.messages.create(model="claude-sonnet-5", max_tokens=9, messages=sent)


async def in_an_event_loop(
    client: AsyncAnthropic, openai: AsyncOpenAI, session: Session, history: list[MessageParam]
) -> None:
    """The same, awaited."""
    chat: list[ChatCompletionMessageParam] = [{"role": "user", "content": "Hello."}]
    result = await acompress(history, target_tokens=1_000_000)
    assert_type(result.messages, list[MessageParam])

    await client.messages.create(
        model="claude-sonnet-5", max_tokens=9, messages=await session.afit(history)
    )
    await openai.chat.completions.create(
        model="gpt-5", messages=(await acompress(chat, target_tokens=1_000_000)).messages
    )


def of_openai(client: OpenAI, session: Session, history: list[ChatCompletionMessageParam]) -> None:
    """Every door with OpenAI's own types, and with a session that keeps the record."""
    restore = restore_tool(session)
    client.chat.completions.create(
        model="gpt-5", tools=[restore.openai], messages=compress(history).messages
    )
    answer = client.chat.completions.create(
        model="gpt-5", tools=[restore.openai], messages=session.fit(history)
    )
    session.record(*history)
    session.record(answer.choices[0].message)
    client.chat.completions.create(model="gpt-5", messages=session.prepare())
    client.chat.completions.create(model="gpt-5", messages=session.view())
    shorter = session.compress(target_tokens=1_000_000).messages
    client.chat.completions.create(model="gpt-5", messages=shorter)
    print(session.status(history), session.usage([*history, answer.choices[0].message]))


def of_responses(client: OpenAI, session: Session, items: list[ResponseInputItemParam]) -> None:
    """OpenAI's Responses, whose items are of many types."""
    restore = restore_tool(session)
    tools = [restore.openai_responses]
    client.responses.create(model="gpt-5", tools=tools, input=session.fit(items, tools=tools))
    client.responses.create(model="gpt-5", tools=tools, input=compress(items).messages)


def of_its_own(session: Session, said: list[Said]) -> list[Said]:
    """A `TypedDict` of the program's own."""
    print(count_tokens(said), usage(said).used_tokens, should_compress(said))
    return [*session.fit(said), *compress(said).messages]


def plain_dicts(session: Session, send: Any, question: str) -> str:
    """A loop over plain dicts, as a program without a client's types writes it."""
    restore = restore_tool(session)
    tools: list[dict[str, object]] = [{"name": "mine", "input_schema": {"type": "object"}}]
    messages: list[dict[str, Any]] = [{"role": "user", "content": question}]
    while True:
        answer: dict[str, Any] = send(
            tools=[*tools, restore.anthropic], messages=session.fit(messages, tools=tools)
        )
        messages.append({"role": "assistant", "content": answer["content"]})
        calls = [block for block in answer["content"] if block["type"] == "tool_use"]
        if not calls:
            return "".join(block["text"] for block in answer["content"])
        results = [
            {
                "type": "tool_result",
                "tool_use_id": call["id"],
                "content": restore.answer(call["input"]),
            }
            for call in calls
        ]
        messages.append({"role": "user", "content": results})


def with_settings() -> Settings:
    """Settings by name; a checker knows the values that are allowed."""
    compress([{"role": "user", "content": "Hello."}], strategy="extract")
    return Settings(token_budget=60_000, strategy="window", on_summary_failure="skip")
