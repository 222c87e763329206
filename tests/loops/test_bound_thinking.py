"""Thinking that is bound to what stands before it, with the real client.

The API checks it as the Claude docs say ("Preserved thinking"): a block is valid only behind the
very system prompt, tools and messages that it was made behind.
"""

import copy
import json
from collections.abc import AsyncIterator, Iterator
from functools import partial
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest
from anthropic import Anthropic, AsyncAnthropic, BadRequestError
from anthropic.lib.bedrock import AnthropicBedrock
from anthropic.lib.vertex import AnthropicVertex
from provider import blocks, refused

from context_compression import Session, count_tokens
from context_compression.conversation.refs import ref_of
from context_compression.loops import anthropic as loops
from context_compression.loops.anthropic import create
from context_compression.session.pacing import Event
from context_compression.testing.messages_api import (
    Answer,
    Entry,
    MessagesAPI,
    Refusal,
    foreign_thinking,
    too_long,
)

pytestmark = pytest.mark.anyio

run_tools = partial(loops.run_tools, shorten=False)  # long results fill the conversation
arun_tools = partial(loops.arun_tools, shorten=False)

BINDING, OLDER = "claude-fable-5-1", "claude-sonnet-5"
BETA = "thinking-binding-controls-2026-08-01"
DROP = {"prefix_mismatch_behavior": "drop_block"}
BOUND = {"type": "adaptive", "block_binding": DROP}
SMALL = {"token_budget": 20_000, "keep_recent_tokens": 2_000, "preserve_messages": 1}
REQUEST: dict[str, Any] = {
    "model": BINDING,
    "max_tokens": 500,
    "thinking": {"type": "adaptive"},
    "system": "Build it.",
    "tools": [{"name": "logs", "input_schema": {"type": "object"}}],
}
STRICT = {
    "thinking": {**REQUEST["thinking"], "block_binding": {"prefix_mismatch_behavior": "error"}}
}
DONE = Answer("Done.")


def logs(part: int) -> str:
    """Some 1,700 tokens, and an error that evidence is looked for in."""
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
        wanted = body.get("thinking", {}).get("block_binding", {})
        self.invalid.append([path for path, valid, _ in thought(body) if not valid])
        if self.invalid[-1] and wanted != DROP:
            self.refusals += 1
            return foreign_thinking(self.invalid[-1][0])
        number = len(self.invalid)
        made = sealed(body, len(body["messages"]))
        thinking = {"type": "thinking", "thinking": f"hm {number}", "signature": made}
        call = {"type": "tool_use", "id": f"t{number}", "name": "logs", "input": {"part": number}}
        if number > self.steps:
            return Answer("", content=[thinking, {"type": "text", "text": "Done."}])
        return Answer("", stop_reason="tool_use", content=[thinking, call])


class Conversing:
    """A session, the events it told of, and how to reach an API."""

    def __init__(self, folder: Path, api: MessagesAPI, **settings: Any) -> None:
        self.events: list[Event] = []
        self.session = Session(folder, "s", settings=SMALL | settings, on_event=self.events.append)
        self.session.record({"role": "user", "content": "Fix the build. Never touch src/vendor."})
        self.access: dict[str, Any] = {"api_key": "any", "base_url": api.base_url}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / ".compression"


@pytest.fixture(params=["sync", "async", "sync streamed", "async streamed"])
async def loop(request: pytest.FixtureRequest) -> AsyncIterator[Any]:
    """`run_tools` in each of its ways, called the same way."""
    stream = {"stream": True} if "streamed" in request.param else {}

    async def call(chat: Conversing, **more: Any) -> Any:
        asked: dict[str, Any] = REQUEST | stream | more
        if "async" in request.param:
            async with AsyncAnthropic(**chat.access) as aclient:
                return await arun_tools(chat.session, aclient, {"logs": logs}, **asked)
        with Anthropic(**chat.access) as client:
            run = partial(run_tools, chat.session, client, {"logs": logs}, **asked)
            return await anyio.to_thread.run_sync(run)

    yield call


@pytest.mark.slow
async def test_no_thinking_of_a_long_run_comes_back_behind_other_messages(
    folder: Path, loop: Any
) -> None:
    binding = Binding(40)
    with MessagesAPI([binding]) as api:
        chat = Conversing(folder, api)

        await loop(chat)

    assert len(chat.session.state().compressions) > 3
    assert len(api.requests) == 41
    assert sum(map(bool, binding.invalid)) == 0
    assert all(refused(request.body["messages"], "anthropic") == [] for request in api.requests)


@pytest.mark.slow
async def test_between_compressions_a_request_only_grows_so_that_new_thinking_is_valid(
    folder: Path, loop: Any
) -> None:
    with MessagesAPI([Binding(40)]) as api:
        chat = Conversing(folder, api)

        await loop(chat)

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


async def test_every_request_to_a_model_that_binds_asks_to_drop_what_is_not_valid(
    folder: Path, loop: Any
) -> None:
    with MessagesAPI([Binding(15)]) as api:
        await loop(Conversing(folder, api))

    assert [request.body["thinking"] for request in api.requests] == [BOUND] * 16
    assert [request.headers["anthropic-beta"] for request in api.requests] == [BETA] * 16


async def test_another_model_is_not_asked(folder: Path, loop: Any) -> None:
    with MessagesAPI([Binding(15)]) as api:
        await loop(Conversing(folder, api), model=OLDER)

    assert api.requests[-1].body["thinking"] == {"type": "adaptive"}
    assert all("anthropic-beta" not in request.headers for request in api.requests)


def sent(folder: Path, api: MessagesAPI, client: Any = None, **request: Any) -> tuple[Any, Any]:
    """The thinking parameter and the betas of a single request; what was given stays as it is."""
    chat = Conversing(folder, api)
    given = copy.deepcopy(request)
    asked: dict[str, Any] = {"model": BINDING, "max_tokens": 9} | request
    with Anthropic(**chat.access) as usual:
        create(chat.session, client or usual, **asked)
    assert request == given
    return api.requests[-1].body.get("thinking"), api.requests[-1].headers.get("anthropic-beta")


@pytest.mark.parametrize(
    ("given", "thinking"),
    [
        ({}, BOUND),  # they think unasked
        ({"thinking": {"type": "adaptive", "display": "summarized"}},
         {**BOUND, "display": "summarized"}),
        ({"thinking": {"type": "enabled", "budget_tokens": 1_024}, "model": "claude-haiku-5-5"},
         {"type": "enabled", "budget_tokens": 1_024, "block_binding": DROP}),
    ],
)  # fmt: skip
def test_what_the_caller_says_of_thinking_is_kept(folder: Path, given: Any, thinking: Any) -> None:
    with MessagesAPI([DONE]) as api:
        assert sent(folder, api, **given) == (thinking, BETA)


@pytest.mark.parametrize(
    "thinking", [{"type": "disabled"}, {"type": "between_tools"}, STRICT["thinking"]]
)
def test_what_the_caller_rules_out_is_not_asked_for(folder: Path, thinking: Any) -> None:
    with MessagesAPI([DONE]) as api:
        assert sent(folder, api, thinking=thinking) == (thinking, None)


def test_it_can_be_switched_off_for_a_gateway_that_does_not_know_it(folder: Path) -> None:
    off = {"type": "adaptive", "block_binding": None}
    with MessagesAPI([DONE]) as api:
        assert sent(folder, api, thinking=off) == ({"type": "adaptive"}, None)


@pytest.mark.parametrize("model", [OLDER, "claude-opus-4-8", "my-deployment"])
@pytest.mark.parametrize("given", [{}, {"thinking": {"type": "adaptive"}}])
def test_models_that_do_not_bind_get_what_the_caller_says(
    folder: Path, given: Any, model: str
) -> None:
    with MessagesAPI([DONE]) as api:
        assert sent(folder, api, model=model, **given) == (given.get("thinking"), None)


def test_the_betas_of_the_caller_stay_wherever_they_are_said(folder: Path) -> None:
    with MessagesAPI([DONE]) as api:
        own = {"Anthropic-Beta": "a, b", "x-own": "1"}
        assert sent(folder, api, extra_headers=own) == (BOUND, f"a,b,{BETA}")
        assert api.requests[-1].headers["x-own"] == "1"
        assert sent(folder, api, extra_headers={"anthropic-beta": BETA}) == (BOUND, BETA)
        client = Anthropic(
            api_key="any", base_url=api.base_url, default_headers={"anthropic-beta": "c"}
        )
        with client:
            assert sent(folder, api, client) == (BOUND, f"c,{BETA}")
            assert sent(folder, api, client, extra_headers=own) == (BOUND, f"a,b,{BETA}")
            assert sent(folder, api, client.beta, betas=["d"]) == (BOUND, f"d,{BETA}")


def test_other_clouds_are_asked_the_same(folder: Path) -> None:
    with MessagesAPI([DONE]) as api:
        with AnthropicBedrock(api_key="any", aws_region="eu", base_url=api.base_url) as bedrock:
            thinking, _ = sent(folder, api, bedrock, model="eu.anthropic.claude-fable-5-1-v1:0")
        assert (thinking, api.requests[-1].body["anthropic_beta"]) == (BOUND, [BETA])
        with AnthropicVertex(
            region="eu", project_id="p", access_token="any", base_url=api.base_url
        ) as vertex:
            assert sent(folder, api, vertex, model="claude-fable-5-1@20260901") == (BOUND, BETA)


def thinking_then(*script: Entry) -> list[Entry]:
    """A script that begins with thinking and a call."""
    return [Binding(1), *script]


async def test_refused_for_its_thinking_a_request_is_sent_once_more_without(
    folder: Path, loop: Any
) -> None:
    with MessagesAPI(thinking_then(foreign_thinking(), DONE)) as api:
        chat = Conversing(folder, api)

        answer = await loop(chat)

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


async def test_refused_again_the_error_rises_and_nothing_loops(folder: Path, loop: Any) -> None:
    with MessagesAPI(thinking_then(foreign_thinking())) as api:
        chat = Conversing(folder, api)

        with pytest.raises(BadRequestError, match="bound to a different conversation"):
            await loop(chat)

    assert len(api.requests) == 3


async def test_it_is_recovered_from_where_compressing_is_switched_off_too(
    folder: Path, loop: Any
) -> None:
    with MessagesAPI(thinking_then(foreign_thinking(), DONE)) as api:
        chat = Conversing(folder, api, auto_compress=False)

        answer = await loop(chat)

    assert answer.content[-1].text == "Done."


async def test_too_long_thereafter_it_is_made_smaller_too(folder: Path, loop: Any) -> None:
    with MessagesAPI(thinking_then(foreign_thinking(), too_long(), DONE)) as api:
        chat = Conversing(folder, api)

        await loop(chat)

    assert [e.reason for e in chat.events if e.kind == "end"] == ["thinking", "overflow"]
    [_, _, large, small] = (request.body["messages"] for request in api.requests)
    assert count_tokens(small) < count_tokens(large)


async def test_a_system_prompt_that_changes_costs_the_thinking_so_far_and_one_request(
    folder: Path, loop: Any
) -> None:
    binding = Binding(2)
    with MessagesAPI([binding]) as api:
        chat = Conversing(folder, api)
        await loop(chat, **STRICT)
        chat.session.record({"role": "user", "content": "And now the tests."})
        binding.steps = 6

        answer = await loop(chat, **STRICT, system="Test it.")

    assert answer.content[-1].text == "Done."
    assert binding.refusals == 1
    assert [event.reason for event in chat.events] == ["thinking"] * 2
    assert [text for *_, text in thought(api.requests[-1].body)] == ["hm 5", "hm 6"]
