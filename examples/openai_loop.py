"""An agent reads forty logs with a client of the `openai` shape, in a window of ten of them.

    python examples/openai_loop.py

No key, no network, no `openai` package: `Script` stands for the client. With the real one, write
`OpenAI()` in its place and name a real model; the loop stays as it is.
"""

import asyncio
import json
import tempfile
from typing import Any

from pydantic import BaseModel

from context_compression import Session, count_tokens
from context_compression.conversation.refs import ref_of
from context_compression.loops.openai import arun_tools

STEPS = 40
BUDGET = 30_000
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


class Said(BaseModel):
    """The message of an answer, as the client has it."""

    role: str = "assistant"
    content: str | None = None
    tool_calls: list[dict[str, Any]] | None = None


class Choice(BaseModel):
    """One of an answer's choices."""

    message: Said


class Completion(BaseModel):
    """An answer."""

    choices: list[Choice]


class Script:
    """A client whose model reads one log after the other; `requests` holds what it was sent."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.chat = self.completions = self

    async def create(self, **request: Any) -> Completion:
        """The next call, or the last word."""
        self.requests.append(request)
        build = len(self.requests)
        said = Said(content="Every build lacks a flush symbol of its own.")
        if build <= STEPS:
            call = {"name": "read_log", "arguments": json.dumps({"build": build})}
            said = Said(tool_calls=[{"id": f"call_{build}", "type": "function", "function": call}])
        return Completion(choices=[Choice(message=said)])


async def main() -> None:
    """Run the loop and show how full every request was."""
    client = Script()
    with tempfile.TemporaryDirectory() as folder:
        session = Session(
            folder,
            "builds",
            model=MODEL,
            settings={"token_budget": BUDGET, "keep_recent_tokens": 4_000},
            on_event=lambda event: print(
                f"  compressed: {event.tokens_before:,} -> {event.tokens_after:,} tokens"
                if event.kind == "end"
                else f"  {event.reason} reached"
            ),
        )
        session.record(
            {"role": "system", "content": "You are a careful engineer."},
            {"role": "user", "content": "Read the logs of all builds. What is wrong?"},
        )

        answer = await arun_tools(
            session, client, {"read_log": read_log}, model=MODEL, tools=[READ_LOG]
        )

        print(f"\n{answer.choices[0].message.content}\n")
        sent = [count_tokens(request["messages"], model=MODEL) for request in client.requests]
        read = sum(count_tokens(read_log(build), model=MODEL) for build in range(1, STEPS + 1))
        print(f"{len(sent)} requests, {read:,} tokens of logs read")
        print(f"largest request: {max(sent):,} of {BUDGET:,} tokens")
        ref = ref_of(read_log(1))  # as the note says that stands in its place
        print(f"log 1 restored byte for byte: {session.restore(ref) == read_log(1)}")


if __name__ == "__main__":
    asyncio.run(main())
