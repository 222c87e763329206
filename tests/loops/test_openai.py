"""Loops with a client of the `openai` shape: a script, without the package."""

import importlib
import json
import sys
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import anyio
import pytest
from provider import refused
from pydantic import BaseModel

from context_compression import Session, count_tokens
from context_compression.conversation.formats import openai_chat, parse
from context_compression.conversation.refs import ref_of
from context_compression.conversation.validity import problems
from context_compression.loops import openai as loops
from context_compression.loops.openai import acreate
from context_compression.session.pacing import Event
from context_compression.testing import log

pytestmark = pytest.mark.anyio

run_tools = partial(loops.run_tools, shorten=False)  # long results fill the conversation
arun_tools = partial(loops.arun_tools, shorten=False)

BUDGET = 20_000
SMALL = {"token_budget": BUDGET, "keep_recent_tokens": 2_000, "preserve_messages": 1}
REQUEST: dict[str, Any] = {
    "model": "gpt-5",
    "tools": [{"type": "function", "function": {"name": "read", "parameters": {}}}],
}


class Said(BaseModel, extra="allow"):
    """What the client answers with: any keys."""


class TooLong(Exception):
    """As `openai.BadRequestError` looks."""

    status_code = 400
    body: ClassVar = {
        "code": "context_length_exceeded",
        "message": "This model's maximum context length is 128000 tokens.",
    }


class Slow(Exception):
    """As `openai.RateLimitError` looks: it speaks of tokens, too."""

    status_code = 429
    body: ClassVar = {"message": "Rate limit reached: too many tokens per min."}


def answer(**message: Any) -> Said:
    message = {"role": "assistant", "content": None, "refusal": None} | message
    choice = Said.model_validate({"message": Said.model_validate(message)})
    return Said.model_validate({"choices": [choice], "usage": {"total_tokens": 9}})


def calling(*parts: int, arguments: str | None = None) -> Said:
    return answer(
        annotations=[],
        tool_calls=[
            {"id": f"call_{part}", "type": "function",
             "function": {"name": "read", "arguments": arguments or json.dumps({"part": part})}}
            for part in parts
        ],
    )  # fmt: skip


DONE = answer(content="Done.")


def read(part: int) -> str:
    return log(Random(part), 60)


class Client:
    """Answers with the next entry of a script, or raises it; the last one is repeated."""

    def __init__(self, *script: Said | Exception) -> None:
        self.script = script
        self.sent: list[dict[str, Any]] = []
        self.chat = self.completions = self

    def create(self, **request: Any) -> Said:
        self.sent.append(request)
        entry = self.script[min(len(self.sent), len(self.script)) - 1]
        if isinstance(entry, Exception):
            raise entry
        return entry


class AsyncClient(Client):
    """The same for an event loop."""

    # the client's own classes for event loops differ from the plain ones just so
    async def create(self, **request: Any) -> Said:  # pyright: ignore[reportIncompatibleMethodOverride]
        await anyio.lowlevel.checkpoint()
        return super().create(**request)


def chunk(delta: dict[str, Any] | None, **more: Any) -> Said:
    """A piece of a stream; one without a delta has no choices."""
    choice = {"index": 0, "finish_reason": None, "delta": Said.model_validate(delta or {})} | more
    choices = [] if delta is None else [Said.model_validate(choice)]
    about: dict[str, Any] = {"id": "c", "model": "gpt-5", "choices": choices, "usage": None}
    return Said.model_validate(about | more)


def in_chunks(whole: Any) -> list[Said]:
    """An answer as the API streams it: texts and arguments in halves, calls by their index."""
    message: dict[str, Any] = whole.choices[0].message.model_dump(exclude_none=True)
    found = [chunk({"role": "assistant", "content": ""})]
    text: str = message.get("content") or ""
    halves = (text[: len(text) // 2], text[len(text) // 2 :])
    found += [chunk({"content": half}) for half in halves if half]
    for index, call in enumerate(message.get("tool_calls", ())):
        arguments = call["function"]["arguments"]
        begun = {**call, "index": index, "function": {**call["function"], "arguments": ""}}
        found.append(chunk({"tool_calls": [begun]}))
        found += [
            chunk({"tool_calls": [{"index": index, "function": {"arguments": part}}]})
            for part in arguments
        ]
    found.append(chunk({}, finish_reason="tool_calls" if "tool_calls" in message else "stop"))
    return [*found, chunk(None, usage=Said.model_validate({"prompt_tokens": 7}))]


class Stream:
    """What the clients answer with where a stream is asked for."""

    def __init__(self, whole: Said) -> None:
        self.chunks = iter(in_chunks(whole))
        self.closed = False

    def __iter__(self) -> Iterator[Said]:
        return self.chunks

    def close(self) -> None:
        self.closed = True


class AsyncStream(Stream):
    """The same for an event loop."""

    async def __aiter__(self) -> AsyncIterator[Said]:
        for each in self.chunks:
            await anyio.lowlevel.checkpoint()
            yield each

    async def close(self) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]  # as above
        await anyio.lowlevel.checkpoint()
        self.closed = True


class Streaming(Client):
    """Streams where it is asked to."""

    def __init__(self, *script: Said | Exception) -> None:
        super().__init__(*script)
        self.streams: list[Stream] = []

    def create(self, **request: Any) -> Any:
        whole = super().create(**request)
        if not request.get("stream"):
            return whole
        self.streams.append(Stream(whole))
        return self.streams[-1]


class AsyncStreaming(AsyncClient, Streaming):
    """The same for an event loop."""

    async def create(self, **request: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        whole = Client.create(self, **request)
        if not request.get("stream"):
            return whole
        self.streams.append(AsyncStream(whole))
        return self.streams[-1]


class Conversing:
    """A session and the events it told of."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.events: list[Event] = []
        options["settings"] = SMALL | options.get("settings", {})
        self.session = Session(folder / ".compression", "s", on_event=self.events.append, **options)
        self.session.record(
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Read all parts. Never write."},
        )

    async def run(self, client: Client, tools: Any, **more: Any) -> Any:
        if isinstance(client, AsyncClient):
            return await arun_tools(self.session, client, tools, **REQUEST | more)
        return run_tools(self.session, client, tools, **REQUEST | more)


each_way = pytest.mark.parametrize("kind", [Client, AsyncClient])


@each_way
async def test_every_request_of_a_long_loop_fits_and_is_valid(tmp_path: Path, kind: type[Client]):
    client = kind(*map(calling, range(40)), DONE)
    chat = Conversing(tmp_path)

    result: Any = await chat.run(client, {"read": read})

    assert result is DONE
    assert len(client.sent) == 41
    for request in client.sent:
        messages = request["messages"]
        used = count_tokens(messages, tools=request["tools"], model=REQUEST["model"])
        assert used < chat.session.settings.threshold_tokens
        assert problems(parse(messages).messages, openai_chat.FORMAT.rules) == ()
        assert refused(messages, "openai") == []
        names = [tool["function"]["name"] for tool in request["tools"]]
        assert names == ["read", "context_restore"], "others would empty the prompt cache"
    assert {event.reason for event in chat.events} == {"threshold"}
    shown = [message.get("content") for message in client.sent[-1]["messages"]]
    gone = [read(part) for part in range(40) if read(part) not in shown]
    assert len(gone) > 20
    assert all(chat.session.restore(ref_of(text)) == text for text in gone)


@each_way
async def test_results_come_in_the_order_of_the_calls_and_errors_say_so(
    tmp_path: Path, kind: type[Client]
):
    def failing(part: int) -> Any:
        if part == 1:
            raise ValueError("no part 1")
        return {"部分": part}

    client = kind(calling(1, 2), calling(3, arguments="{oops"), DONE)
    chat = Conversing(tmp_path)

    await chat.run(client, {"read": failing})

    assert client.sent[1]["messages"][-2:] == [
        {"role": "tool", "tool_call_id": "call_1", "content": "Error: ValueError: no part 1"},
        {"role": "tool", "tool_call_id": "call_2", "content": '{"部分": 2}'},
    ]
    assert "not a JSON object: {oops" in client.sent[2]["messages"][-1]["content"]


@each_way
async def test_the_model_can_restore_what_a_note_names(tmp_path: Path, kind: type[Client]):
    arguments = json.dumps({"ref": ref_of(read(0)), "lines": "2-3"})
    function = {"name": "context_restore", "arguments": arguments}
    restore = answer(tool_calls=[{"id": "r", "type": "function", "function": function}])
    client = kind(*map(calling, range(25)), restore, DONE)
    chat = Conversing(tmp_path)

    await chat.run(client, {"read": read})

    result = client.sent[-1]["messages"][-1]["content"]
    assert "\n".join(read(0).split("\n")[1:3]) in result
    assert "quoted from the archive" in result


@each_way
async def test_refused_once_it_is_sent_again_smaller(tmp_path: Path, kind: type[Client]):
    client = kind(calling(1, 2, 3), TooLong(), DONE)
    chat = Conversing(tmp_path)

    await chat.run(client, {"read": read})

    [_, large, small] = (request["messages"] for request in client.sent)
    assert count_tokens(small) < 0.6 * count_tokens(large)
    assert [(e.reason, e.will_retry) for e in chat.events] == [
        ("overflow", False),
        ("overflow", True),
    ]


@each_way
async def test_refused_twice_the_error_rises(tmp_path: Path, kind: type[Client]):
    client = kind(calling(1, 2, 3), TooLong())
    chat = Conversing(tmp_path)

    with pytest.raises(TooLong):
        await chat.run(client, {"read": read})

    assert len(client.sent) == 3


@each_way
async def test_a_rate_limit_is_no_overflow(tmp_path: Path, kind: type[Client]):
    client = kind(calling(1, 2, 3), Slow())
    chat = Conversing(tmp_path)

    with pytest.raises(Slow):
        await chat.run(client, {"read": read})

    assert (len(client.sent), chat.events) == (2, [])


@each_way
async def test_switched_off_nothing_is_compressed(tmp_path: Path, kind: type[Client]):
    client = kind(*map(calling, range(20)), TooLong())
    chat = Conversing(tmp_path, settings={"auto_compress": False})

    with pytest.raises(TooLong):
        await chat.run(client, {"read": read})

    assert count_tokens(client.sent[-1]["messages"]) > BUDGET
    assert chat.events == []


async def test_an_answer_is_recorded_as_a_request_may_hold_it(tmp_path: Path):
    audio = {"id": "audio_1", "data": "UklGRg==", "transcript": "Done.", "expires_at": 1}
    client = AsyncClient(answer(audio=audio, annotations=[], reasoning_content="Hm."))
    chat = Conversing(tmp_path)

    await acreate(chat.session, client, **REQUEST)

    assert chat.session.view()[-1] == {
        "role": "assistant",
        "audio": {"id": "audio_1"},
        "reasoning_content": "Hm.",
    }


def test_the_package_of_the_client_is_not_needed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "openai", None)  # importing it raises
    monkeypatch.setitem(sys.modules, "anthropic", None)

    for name in ("openai", "anthropic"):
        importlib.reload(importlib.import_module(f"context_compression.loops.{name}"))


@pytest.mark.parametrize("kind", [Streaming, AsyncStreaming])
async def test_streamed_answers_are_recorded_as_whole_ones_are(
    tmp_path: Path, kind: type[Streaming]
):
    script = (calling(1, 2), calling(3), answer(content="All parts are read."))
    whole = Conversing(tmp_path / "whole")
    await whole.run(Client(*script), {"read": read})
    chat = Conversing(tmp_path / "streamed")
    client = kind(*script)
    chunks: list[Any] = []

    result = await chat.run(client, {"read": read}, on_chunk=chunks.append)

    assert chat.session.view() == whole.session.view()
    assert result.choices[0].message.content == "All parts are read."
    assert result.choices[0].finish_reason == "stop"
    assert (result.model, result.usage.prompt_tokens) == ("gpt-5", 7)
    assert [request["stream"] for request in client.sent] == [True] * 3
    assert all(stream.closed for stream in client.streams)
    assert len(chunks) == sum(len(in_chunks(said)) for said in script)


def test_a_stream_is_aborted_at_its_next_chunk(tmp_path: Path):
    chat = Conversing(tmp_path)
    client = Streaming(*map(calling, range(6)), answer(content="Not to the end."), DONE)
    seen: list[Any] = []

    def look(chunk: Any) -> None:
        if len(client.sent) == 7:
            seen.append(chunk)
            chat.session.compress(strategy="offload", force=True)

    result = run_tools(chat.session, client, {"read": read}, on_chunk=look, **REQUEST)

    assert result.choices[0].message.content == "Done."
    assert len(seen) == 1
    assert client.streams[6].closed
    [*_, aborted, again] = (request["messages"] for request in client.sent)
    assert count_tokens(again) < count_tokens(aborted)
    assert "Not to the end." not in str(chat.session.view())


@pytest.mark.parametrize("kind", [Client, AsyncClient, Streaming, AsyncStreaming])
async def test_an_answer_to_a_part_of_the_conversation_is_asked_for_again_smaller(
    tmp_path: Path, kind: type[Client]
):
    cut: Any = answer(content="Half of")
    cut.choices[0].finish_reason = "length"
    cut.usage = Said.model_validate({"prompt_tokens": 399_999, "completion_tokens": 0})
    client = kind(calling(1, 2, 3), cut, DONE)
    chat = Conversing(tmp_path)

    result = await chat.run(client, {"read": read})

    assert result.choices[0].message.content == "Done."
    [_, large, small] = (request["messages"] for request in client.sent)
    assert count_tokens(small) < 0.6 * count_tokens(large)
    assert [(e.reason, e.will_retry) for e in chat.events] == [
        ("overflow", False),
        ("overflow", True),
    ]


@each_way
async def test_a_system_prompt_of_the_session_stands_before_the_messages(
    tmp_path: Path, kind: type[Client]
):
    client = kind(DONE)
    chat = Conversing(tmp_path, system="Be careful.")

    await chat.run(client, {})

    [request] = client.sent
    assert request["messages"][0] == {"role": "system", "content": "Be careful."}
    assert request["messages"][1:] == chat.session.view()[:-1]
