"""Thinking that is bound to what stands before it: `examples/anthropic_loop.py`, the real client.

The API checks it as the Claude docs say ("Preserved thinking"): a block is valid only behind the
very system prompt, tools and messages that it was made behind.
"""

import json
from collections.abc import Iterator
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from anthropic import Anthropic, BadRequestError
from examples import example
from provider import blocks, refused

from context_compression import Session, count_tokens
from context_compression.conversation import ref_of
from context_compression.session import Event
from context_compression.testing.messages_api import (
    Answer,
    Entry,
    MessagesAPI,
    Refusal,
    foreign_thinking,
    too_long,
)

BINDING = "claude-fable-5-1"
SMALL = {
    "token_budget": 20_000, "keep_recent_tokens": 2_000, "preserve_messages": 1,
    "offload_at_source": "*=0",  # long results fill the conversation
}  # fmt: skip
REQUEST: dict[str, Any] = {
    "model": BINDING,
    "max_tokens": 500,
    "thinking": {"type": "adaptive"},
    "system": "Build it.",
    "tools": [{"name": "logs", "input_schema": {"type": "object"}}],
}
DONE = Answer("Done.")


def logs(arguments: dict[str, Any]) -> str:
    """Some 1,700 tokens, and an error that evidence is looked for in."""
    part = arguments["part"]
    lines = [f"src/part_{n % 7}.c:{n}: warning: unused variable v{part}_{n}" for n in range(90)]
    return "\n".join([*lines, f"src/main.c:{part}: error: expected ';'"])


def sealed(body: dict[str, Any], at: int, slot: int = 0) -> str:
    """The signature of a block at a place: behind so many messages, and blocks of its own."""
    said = body["messages"]
    own: list[Any] = said[at]["content"][:slot] if slot else []
    before: list[Any] = [body.get("system"), body.get("tools"), said[:at], own]
    return sha256(json.dumps(before, sort_keys=True).encode()).hexdigest()


def thought(body: dict[str, Any]) -> Iterator[tuple[str, bool, str]]:
    """The path of each thinking block in a request, whether it is valid, and what it says."""
    for at, message in enumerate(body["messages"]):
        for slot, block in enumerate(blocks(message)):
            if block["type"] == "thinking":
                valid = block["signature"] == sealed(body, at, slot)
                yield f"messages.{at}.content.{slot}", valid, block["thinking"]


class Binding:
    """An API that thinks, calls `logs` so many times, and checks what comes back to it.

    Attributes:
        invalid: of each request, the paths of thinking that is not valid in it.
        refusals: how many requests were refused for it.
    """

    def __init__(self, steps: int) -> None:
        self.steps, self.refusals = steps, 0
        self.invalid: list[list[str]] = []

    def __call__(self, body: dict[str, Any]) -> Answer | Refusal:
        self.invalid.append([path for path, valid, _ in thought(body) if not valid])
        if self.invalid[-1]:
            self.refusals += 1
            return foreign_thinking(self.invalid[-1][0])
        number = len(self.invalid)
        made = sealed(body, len(body["messages"]))
        thinking = {"type": "thinking", "thinking": f"hm {number}", "signature": made}
        call = {"type": "tool_use", "id": f"t{number}", "name": "logs", "input": {"part": number}}
        if number > self.steps:
            return Answer("", content=[thinking, {"type": "text", "text": "Done."}])
        return Answer("", stop_reason="tool_use", content=[thinking, call])


class Chat:
    """A program that keeps its messages itself, its session, and the events that it told of."""

    def __init__(self, folder: Path, api: MessagesAPI, **settings: Any) -> None:
        self.events: list[Event] = []
        self.url = api.base_url
        self.session = Session(
            folder, "s", model=BINDING, settings=SMALL | settings, on_event=self.events.append
        )
        self.messages: list[Any] = [
            {"role": "user", "content": "Fix the build. Never touch src/vendor."}
        ]

    def run(self, **more: Any) -> Any:
        run = example("anthropic_loop").answer_to
        with Anthropic(api_key="any", base_url=self.url, max_retries=0) as client:
            return run(self.messages, client, self.session, {"logs": logs}, **REQUEST | more)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / ".compression"


def test_no_thinking_of_a_long_run_comes_back_behind_other_messages(folder: Path) -> None:
    binding = Binding(40)
    with MessagesAPI([binding]) as api:
        chat = Chat(folder, api)

        chat.run()

    assert len(chat.session.state().compressions) > 3
    assert len(api.requests) == 41
    assert sum(map(bool, binding.invalid)) == 0
    assert all(refused(request.body["messages"], "anthropic") == [] for request in api.requests)


def test_between_compressions_a_request_only_grows_so_that_new_thinking_is_valid(
    folder: Path,
) -> None:
    with MessagesAPI([Binding(40)]) as api:
        chat = Chat(folder, api)

        chat.run()

    bodies = [request.body for request in api.requests]
    assert all(body["tools"] == bodies[0]["tools"] for body in bodies)
    assert all(body["system"] == bodies[0]["system"] for body in bodies)
    since, compressions = 1, 0
    for number, (before, after) in enumerate(pairwise(bodies), 2):
        if after["messages"][: len(before["messages"])] != before["messages"]:
            since, compressions = number, compressions + 1
        valid = {text for _, valid, text in thought(after) if valid}
        assert {f"hm {n}" for n in range(since, number)} <= valid
    assert compressions == len(chat.session.state().compressions) > 3


def thinking_then(*script: Entry) -> list[Entry]:
    """A script that begins with thinking and a call."""
    return [Binding(1), *script]


def test_refused_for_its_thinking_a_request_is_sent_once_more_without(folder: Path) -> None:
    with MessagesAPI(thinking_then(foreign_thinking(), DONE)) as api:
        chat = Chat(folder, api)

        answer = chat.run()

    assert answer.content[-1].text == "Done."
    [_, whole, without] = (request.body for request in api.requests)
    assert len([*thought(whole)]) == 1
    assert [*thought(without)] == []
    assert refused(without["messages"], "anthropic") == []
    assert without["messages"][-1] == whole["messages"][-1]
    assert [(e.kind, e.reason, e.will_retry) for e in chat.events] == [
        ("start", "thinking", False),
        ("end", "thinking", True),
    ]
    assert chat.session.original(ref_of(whole["messages"][1])) == whole["messages"][1]
    assert chat.session.undo()[:3] == whole["messages"]


def test_refused_again_the_error_rises_and_nothing_loops(folder: Path) -> None:
    with MessagesAPI(thinking_then(foreign_thinking())) as api:
        chat = Chat(folder, api)

        with pytest.raises(BadRequestError, match="bound to a different conversation"):
            chat.run()

    assert len(api.requests) == 3


def test_it_is_recovered_from_where_compressing_is_switched_off_too(folder: Path) -> None:
    with MessagesAPI(thinking_then(foreign_thinking(), DONE)) as api:
        chat = Chat(folder, api, auto_compress=False)

        answer = chat.run()

    assert answer.content[-1].text == "Done."


def test_too_long_thereafter_it_is_made_smaller_too(folder: Path) -> None:
    with MessagesAPI(thinking_then(foreign_thinking(), too_long(), DONE)) as api:
        chat = Chat(folder, api)

        chat.run()

    assert [e.reason for e in chat.events if e.kind == "end"] == ["thinking", "overflow"]
    [_, _, large, small] = (request.body["messages"] for request in api.requests)
    assert count_tokens(small) < count_tokens(large)


def test_a_system_prompt_that_changes_costs_the_thinking_so_far_and_one_request(
    folder: Path,
) -> None:
    binding = Binding(2)
    with MessagesAPI([binding]) as api:
        chat = Chat(folder, api)
        chat.run()
        chat.messages.append({"role": "user", "content": "And now the tests."})
        binding.steps = 6

        answer = chat.run(system="Test it.")

    assert answer.content[-1].text == "Done."
    assert binding.refusals == 1
    assert [event.reason for event in chat.events] == ["thinking"] * 2
    assert [text for *_, text in thought(api.requests[-1].body)] == ["hm 5", "hm 6"]
