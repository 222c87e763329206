"""A whole agent loop with the `openai` client, in an event loop: every request fits.

    OPENAI_API_KEY=… python examples/openai_loop.py

`afit` makes what is sent small enough, `restore_tool` brings back what left, and `arecover` mends
a request that was refused all the same. `anthropic_loop.py` does the same without an event loop.
"""

import asyncio
import json
from functools import partial
from time import ctime
from typing import Any

from openai import APIStatusError, AsyncOpenAI

from context_compression import Session, restore_tool
from context_compression.summaries.errors import silent_overflow
from context_compression.tokens import window_of


async def answer_to(
    messages: Any, client: Any, session: Session, functions: Any, **request: Any
) -> Any:
    """The model's last answer, after all tools that it calls; `messages` grows with each step.

    After a cancelled run, call it with the same messages, or in a new process with
    `session.view()`: calls without a result are made first. If the user says something instead,
    `afit` sends a note for each. `request` has the arguments of the client: `model`, `tools`, ….
    """
    restore = restore_tool(session)  # offered from the first request on: the cache stays valid
    request["tools"] = [*request.get("tools", ()), restore.openai]
    run = partial(result_of, {**functions, restore.name: restore.aanswer})
    while True:
        messages += await asyncio.gather(*map(run, messages[-1].get("tool_calls") or ()))
        answer = await asked(messages, client, session, request)
        message = answer.choices[0].message.model_dump(mode="json", exclude_none=True)
        if any(message[name] for name in message if name != "role"):
            messages.append(message)
        if not message.get("tool_calls"):
            return answer


async def asked(messages: Any, client: Any, session: Session, request: dict[str, Any]) -> Any:
    """One answer. A request that was too long is sent again, smaller."""
    sent = await session.afit(messages, tools=request["tools"])
    window = max(session.settings.token_budget, window_of(session.model) or 0)
    while True:
        try:
            answer = await client.chat.completions.create(**request, messages=sent)
        except APIStatusError as error:
            if (sent := await session.arecover(error)) is None:  # once until the model answers
                raise
            continue
        used, reason = answer.usage, answer.choices[0].finish_reason
        cut = silent_overflow(reason, used.prompt_tokens, used.completion_tokens, window)
        if not cut or (sent := await session.arecover("context_length_exceeded")) is None:
            return answer


async def result_of(functions: Any, call: Any) -> dict[str, Any]:
    """The result of a call, or its error, which the model reads."""
    function, result = call["function"], {"role": "tool", "tool_call_id": call["id"]}
    try:
        arguments = json.loads(function["arguments"] or "{}")
        return result | {"content": await functions[function["name"]](arguments)}
    except Exception as error:
        return result | {"content": f"Error: {type(error).__name__}: {error}"}


async def now(arguments: Any) -> str:
    """A tool: what time it is."""
    return ctime()


if __name__ == "__main__":
    chat, said = Session(".compression", "tour"), [{"role": "user", "content": "What time is it?"}]
    about: Any = {"model": "gpt-5", "tools": [{"type": "function", "function": {"name": "time"}}]}
    print(asyncio.run(answer_to(said, AsyncOpenAI(), chat, {"time": now}, **about)))
