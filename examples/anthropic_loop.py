"""An agent reads forty logs with the `anthropic` client, in a window that holds six of them.

    python examples/anthropic_loop.py

No key and no network: the model is a script behind a Messages API on loopback. For a real one, let
the client be `Anthropic()` and name a model; the loop stays as it is.
"""

import tempfile
from typing import Any

from anthropic import Anthropic
from anthropic.types import ToolParam

from context_compression import Session, count_tokens
from context_compression.conversation.refs import ref_of
from context_compression.loops.anthropic import run_tools
from context_compression.testing.messages_api import Answer, Entry, MessagesAPI

STEPS = 40
BUDGET = 30_000
MODEL = "claude-sonnet-5"
READ_LOG: ToolParam = {
    "name": "read_log",
    "description": "Reads the log of a build.",
    "input_schema": {"type": "object", "properties": {"build": {"type": "integer"}}},
}


def read_log(build: int) -> str:
    """A tool with a large output, some 4,700 tokens."""
    lines = [f"{n:4} build {build} compiled unit_{n * build % 977}.o in {n} ms" for n in range(200)]
    lines[120] = f"ERROR build {build}: undefined symbol `flush_{build}`"
    return "\n".join(lines)


def script() -> list[Entry]:
    """What the model says: one log after the other, then what it found."""
    calls: list[Entry] = [
        Answer(
            text=f"Now build {build}.",
            stop_reason="tool_use",
            content=[
                {"type": "tool_use", "id": f"toolu_{build}", "name": "read_log",
                 "input": {"build": build}}
            ],
        )
        for build in range(1, STEPS + 1)
    ]  # fmt: skip
    return [*calls, Answer(text="Every build lacks a flush symbol of its own.")]


def main() -> None:
    """Run the loop and show how full every request was."""
    with (
        tempfile.TemporaryDirectory() as folder,
        MessagesAPI(script()) as api,
        Anthropic(api_key="none", base_url=api.base_url) as client,
    ):
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
        session.record({"role": "user", "content": "Read the logs of all builds. What is wrong?"})

        answer = run_tools(
            session,
            client,
            {"read_log": read_log},
            model=MODEL,
            max_tokens=1_000,
            tools=[READ_LOG],
        )

        print(f"\n{answer.content}\n")
        sent = [tokens(request.body) for request in api.requests]
        read = sum(count_tokens(read_log(build), model=MODEL) for build in range(1, STEPS + 1))
        print(f"{len(sent)} requests, {read:,} tokens of logs read")
        print(f"largest request: {max(sent):,} of {BUDGET:,} tokens")
        ref = ref_of(read_log(1))  # as the note says that stands in its place
        print(f"log 1 restored byte for byte: {session.restore(ref) == read_log(1)}")


def tokens(body: dict[str, Any]) -> int:
    """Of a whole request."""
    return count_tokens(body["messages"], tools=body.get("tools"), model=MODEL)


if __name__ == "__main__":
    main()
