"""A loop as tutorials of the `openai` client write it, with a session that keeps it small.

    OPENAI_API_KEY=… python examples/openai_fit.py

The program keeps its `messages` itself. `session.fit` says what to send instead of them, and
`restore_tool` lets the model bring back what left.
"""

import json
from typing import Any

from openai import OpenAI

from context_compression import Session, restore_tool

MODEL = "gpt-5"
READ_LOG: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "read_log",
        "description": "Reads the log of a build.",
        "parameters": {"type": "object", "properties": {"build": {"type": "integer"}}},
    },
}


def read_log(build: int) -> str:
    """A tool with a large output, some 3,000 tokens."""
    lines = [f"{n:4} build {build} compiled unit_{n * build % 977}.o in {n} ms" for n in range(200)]
    lines[120] = f"ERROR build {build}: undefined symbol `flush_{build}`"
    return "\n".join(lines)


def ask(client: OpenAI, session: Session, question: str) -> str:
    """The model's answer, after all tools that it calls."""
    restore = restore_tool(session)
    tools: Any = [READ_LOG, restore.openai]
    messages: list[Any] = [{"role": "user", "content": question}]
    while True:
        answer = client.chat.completions.create(
            model=MODEL, tools=tools, messages=session.fit(messages, tools=tools)
        )
        message: Any = answer.choices[0].message
        messages.append(message)
        if not message.tool_calls:
            return message.content or ""
        for call in message.tool_calls:
            if call.function.name == restore.name:
                text = restore.answer(call.function.arguments)
            else:
                text = read_log(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": text})


if __name__ == "__main__":
    with_window = {"token_budget": 30_000, "keep_recent_tokens": 4_000}
    builds = Session(".compression", "builds", model=MODEL, settings=with_window)
    print(ask(OpenAI(), builds, "Read the logs of all builds. What is wrong?"))
