"""A loop as tutorials of the `anthropic` client write it, with a session that keeps it small.

    ANTHROPIC_API_KEY=… python examples/anthropic_fit.py

The program keeps its `messages` itself. `session.fit` says what to send instead of them, and
`restore_tool` lets the model bring back what left.
"""

from typing import Any

from anthropic import Anthropic

from context_compression import Session, restore_tool

MODEL = "claude-sonnet-5"
READ_LOG: dict[str, Any] = {
    "name": "read_log",
    "description": "Reads the log of a build.",
    "input_schema": {"type": "object", "properties": {"build": {"type": "integer"}}},
}


def read_log(build: int) -> str:
    """A tool with a large output, some 3,000 tokens."""
    lines = [f"{n:4} build {build} compiled unit_{n * build % 977}.o in {n} ms" for n in range(200)]
    lines[120] = f"ERROR build {build}: undefined symbol `flush_{build}`"
    return "\n".join(lines)


def ask(client: Anthropic, session: Session, question: str) -> str:
    """The model's answer, after all tools that it calls."""
    restore = restore_tool(session)
    tools: Any = [READ_LOG, restore.anthropic]
    messages: list[Any] = [{"role": "user", "content": question}]
    while True:
        answer = client.messages.create(
            model=MODEL, max_tokens=1_000, tools=tools, messages=session.fit(messages, tools=tools)
        )
        messages.append({"role": "assistant", "content": answer.content})
        results: list[Any] = []
        for block in answer.content:
            if block.type == "tool_use":
                run = restore.answer if block.name == restore.name else read
                text = run(block.input)
                results.append({"type": "tool_result", "tool_use_id": block.id, "content": text})
        if not results:
            return "".join(block.text for block in answer.content if block.type == "text")
        messages.append({"role": "user", "content": results})


def read(arguments: dict[str, Any]) -> str:
    """Runs the tool `read_log`."""
    return read_log(**arguments)


if __name__ == "__main__":
    with_window = {"token_budget": 30_000, "keep_recent_tokens": 4_000}
    builds = Session(".compression", "builds", model=MODEL, settings=with_window)
    print(ask(Anthropic(), builds, "Read the logs of all builds. What is wrong?"))
