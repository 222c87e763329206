"""A loop as tutorials of the `anthropic` client write it, with a session that keeps it small.

    ANTHROPIC_API_KEY=… python examples/anthropic_fit.py

The program keeps its `messages` itself, in the types of its client. `session.fit` says what to send
instead of them, and `restore_tool` lets the model bring back what left.
"""

from anthropic import Anthropic
from anthropic.types import MessageParam, ToolParam, ToolResultBlockParam

from context_compression import Session, restore_tool

MODEL = "claude-sonnet-5"
READ_LOG: ToolParam = {
    "name": "read_log",
    "description": "Reads the log of a build.",
    "input_schema": {"type": "object", "properties": {"build": {"type": "integer"}}},
}


def read_log(build: object) -> str:
    """A tool with a large output, some 3,000 tokens."""
    number = int(str(build))
    lines = [
        f"{n:4} build {number} compiled unit_{n * number % 977}.o in {n} ms" for n in range(200)
    ]
    lines[120] = f"ERROR build {number}: undefined symbol `flush_{number}`"
    return "\n".join(lines)


def ask(client: Anthropic, session: Session, question: str) -> str:
    """The model's answer, after all tools that it calls."""
    restore = restore_tool(session)
    tools = [READ_LOG, restore.anthropic]
    messages: list[MessageParam] = [{"role": "user", "content": question}]
    while True:
        answer = client.messages.create(
            model=MODEL, max_tokens=1_000, tools=tools, messages=session.fit(messages, tools=tools)
        )
        messages.append({"role": "assistant", "content": answer.content})
        results: list[ToolResultBlockParam] = []
        for block in answer.content:
            if block.type == "tool_use":
                called_ours = block.name == restore.name
                text = (
                    restore.answer(block.input) if called_ours else read_log(block.input["build"])
                )
                results.append({"type": "tool_result", "tool_use_id": block.id, "content": text})
        if not results:
            return "".join(block.text for block in answer.content if block.type == "text")
        messages.append({"role": "user", "content": results})


if __name__ == "__main__":
    builds = Session(
        ".compression", "builds", model=MODEL,
        settings={"token_budget": 30_000, "keep_recent_tokens": 4_000},
    )  # fmt: skip
    print(ask(Anthropic(), builds, "Read the logs of all builds. What is wrong?"))
