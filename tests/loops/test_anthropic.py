"""Loops with the real client, against the Messages API with a script."""

from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from random import Random
from threading import Event as Flag
from threading import Thread
from typing import Any

import anyio
import anyio.to_thread
import pytest
from anthropic import Anthropic, AsyncAnthropic, BadRequestError, RateLimitError
from provider import refused

from context_compression import Session, count_tokens
from context_compression.conversation.formats import anthropic, parse
from context_compression.conversation.refs import ref_of
from context_compression.conversation.system_prompt import MARK, summary_in, with_summary
from context_compression.conversation.validity import problems
from context_compression.loops import anthropic as loops
from context_compression.loops.anthropic import acreate, create
from context_compression.session.pacing import Event
from context_compression.summaries.summarizer import SummaryReply, SummaryRequest
from context_compression.testing import ScriptedSummarizer, conversation, log
from context_compression.testing.messages_api import (
    Answer,
    Entry,
    MessagesAPI,
    rate_limited,
    slow,
    too_long,
)

pytestmark = pytest.mark.anyio

run_tools = partial(loops.run_tools, shorten=False)  # long results fill the conversation
arun_tools = partial(loops.arun_tools, shorten=False)

BUDGET = 20_000
SMALL = {"token_budget": BUDGET, "keep_recent_tokens": 2_000, "preserve_messages": 1}
REQUEST: dict[str, Any] = {
    "model": "claude-test-1",
    "max_tokens": 500,
    "tools": [{"name": "read", "input_schema": {"type": "object"}}],
}
DONE = Answer("Done.")


def read(part: int) -> str:
    """Some 1,700 tokens."""
    return log(Random(part), 60)


def calling(*parts: int, name: str = "read") -> Answer:
    """An answer that reads parts."""
    return Answer(
        "",
        stop_reason="tool_use",
        content=[
            {"type": "tool_use", "id": f"toolu_{part}", "name": name, "input": {"part": part}}
            for part in parts
        ],
    )


class Conversing:
    """A session, the events it told of, and clients for an API."""

    def __init__(self, folder: Path, api: MessagesAPI, **options: Any) -> None:
        self.events: list[Event] = []
        options["settings"] = SMALL | options.get("settings", {})
        self.session = Session(folder, "s", on_event=self.events.append, **options)
        self.session.record({"role": "user", "content": "Read all parts. Never write."})
        self.client = Anthropic(api_key="any", base_url=api.base_url, max_retries=0)
        self.aclient = AsyncAnthropic(api_key="any", base_url=api.base_url, max_retries=0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / ".compression"


def sent(api: MessagesAPI) -> Iterator[list[dict[str, Any]]]:
    return (request.body["messages"] for request in api.requests)


def tool_results(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [block for block in message["content"] if block["type"] == "tool_result"]


@pytest.fixture
async def both(request: pytest.FixtureRequest) -> AsyncIterator[Any]:
    """`run_tools`, or `arun_tools`, called the same way."""
    asynchronous = request.param == "async"

    async def loop(chat: Conversing, tools: Any, **more: Any) -> Any:
        if asynchronous:
            async with chat.aclient as client:
                return await arun_tools(chat.session, client, tools, **REQUEST | more)
        with chat.client as client:
            call = partial(run_tools, chat.session, client, tools, **REQUEST | more)
            return await anyio.to_thread.run_sync(call)

    yield loop


each_way = pytest.mark.parametrize("both", ["sync", "async"], indirect=True)


@each_way
async def test_every_request_of_a_long_loop_fits_and_is_valid(folder: Path, both: Any):
    with MessagesAPI([*map(calling, range(40)), DONE]) as api:
        chat = Conversing(folder, api)

        answer = await both(chat, {"read": read})

    assert answer.content[0].text == "Done."
    assert len(api.requests) == 41
    for request in api.requests:
        body = request.body
        used = count_tokens(body["messages"], tools=body["tools"], model=REQUEST["model"])
        assert used < chat.session.settings.threshold_tokens
        assert problems(parse(body["messages"]).messages, anthropic.FORMAT.rules) == ()
        assert refused(body["messages"], "anthropic") == []
    assert [event.kind for event in chat.events[:2]] == ["start", "end"]
    assert {event.reason for event in chat.events} == {"threshold"}
    assert all(e.tokens_after < e.tokens_before for e in chat.events if e.kind == "end")
    assert all(chat.session.restore(ref_of(read(part))) == read(part) for part in range(30))


@each_way
async def test_results_come_in_the_order_of_the_calls_and_errors_are_results(
    folder: Path, both: Any
):
    second_ran = anyio.Event()

    def failing(part: int) -> str:
        if part == 1:
            raise ValueError("no part 1")
        second_ran.set()
        return f"part {part}"

    with MessagesAPI([calling(1, 2, 3), calling(4, name="write"), DONE]) as api:
        chat = Conversing(folder, api)

        await both(chat, {"read": failing})

    [_, first, second] = sent(api)
    assert tool_results(first[-1]) == [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ValueError: no part 1",
         "is_error": True},
        {"type": "tool_result", "tool_use_id": "toolu_2", "content": "part 2"},
        {"type": "tool_result", "tool_use_id": "toolu_3", "content": "part 3"},
    ]  # fmt: skip
    [unknown] = tool_results(second[-1])
    assert unknown["is_error"]
    assert "There is no tool 'write'. There are: context_restore, read." in unknown["content"]


async def test_calls_of_one_answer_run_side_by_side(folder: Path):
    third = anyio.Event()

    async def waiting(part: int) -> dict[str, int]:
        if part == 3:
            third.set()
        await third.wait()
        return {"part": part}

    with MessagesAPI([calling(1, 2, 3), DONE]) as api:
        chat = Conversing(folder, api)
        async with chat.aclient as client:
            await arun_tools(chat.session, client, {"read": waiting}, **REQUEST)

    results = tool_results(list(sent(api))[-1][-1])
    assert [r["content"] for r in results] == ['{"part": 1}', '{"part": 2}', '{"part": 3}']


@each_way
async def test_the_model_can_restore_what_a_note_names(folder: Path, both: Any):
    ref = ref_of(read(0))
    restore = {"type": "tool_use", "id": "r", "name": "context_restore", "input": {"ref": ref}}
    script: list[Entry] = [*map(calling, range(12)), Answer("", content=[restore]), DONE]
    with MessagesAPI(script) as api:
        chat = Conversing(folder, api)

        await both(chat, {"read": read})

    [result] = tool_results(list(sent(api))[-1][-1])
    assert read(0) in result["content"]
    assert "quoted from the archive" in result["content"]


@each_way
async def test_all_requests_offer_the_same_tools_also_where_another_process_goes_on(
    folder: Path, both: Any
):
    with MessagesAPI([*map(calling, range(20)), DONE, DONE]) as api:
        await both(Conversing(folder, api), {"read": read})
        later = Conversing(folder, api)

        await both(later, {"read": read})

    assert later.session.state().compressions
    offered = [request.body["tools"] for request in api.requests]
    assert [tool["name"] for tool in offered[0]] == ["read", "context_restore"]
    assert all(tools == offered[0] for tools in offered)
    assert REQUEST["tools"] == [{"name": "read", "input_schema": {"type": "object"}}]


def test_a_single_request_offers_the_tools_of_the_caller_alone(folder: Path):
    with MessagesAPI([DONE]) as api:
        chat = Conversing(folder, api)
        chat.session.record(*conversation(20))
        chat.session.compress(force=True)
        with chat.client as client:
            create(chat.session, client, **REQUEST)
            create(chat.session, client, model=REQUEST["model"], max_tokens=500)

    assert [request.body.get("tools") for request in api.requests] == [REQUEST["tools"], None]


@each_way
async def test_a_request_refused_as_too_long_is_sent_once_more_and_smaller(folder: Path, both: Any):
    with MessagesAPI([calling(1, 2, 3), too_long(), DONE]) as api:
        chat = Conversing(folder, api)

        answer = await both(chat, {"read": read})

    assert answer.content[0].text == "Done."
    [_, large, small] = sent(api)
    assert count_tokens(small) < 0.6 * count_tokens(large)
    assert refused(small, "anthropic") == []
    [start, end] = chat.events
    assert (start.reason, end.reason, end.will_retry) == ("overflow", "overflow", True)


@each_way
async def test_refused_twice_the_error_rises_and_nothing_loops(folder: Path, both: Any):
    with MessagesAPI([calling(1, 2, 3), too_long()]) as api:
        chat = Conversing(folder, api)

        with pytest.raises(BadRequestError, match="prompt is too long"):
            await both(chat, {"read": read})

        assert len(api.requests) == 3


@each_way
async def test_a_rate_limit_is_no_overflow(folder: Path, both: Any):
    with MessagesAPI([calling(1, 2, 3), rate_limited()]) as api:
        chat = Conversing(folder, api)

        with pytest.raises(RateLimitError):
            await both(chat, {"read": read})

        assert len(api.requests) == 2
        assert chat.events == []


@each_way
async def test_switched_off_nothing_is_compressed(folder: Path, both: Any):
    with MessagesAPI([*map(calling, range(20)), too_long()]) as api:
        chat = Conversing(folder, api, settings={"auto_compress": False})

        with pytest.raises(BadRequestError):
            await both(chat, {"read": read})

        assert len(api.requests) == 21
        assert count_tokens(list(sent(api))[-1]) > BUDGET
        assert chat.events == []


def test_an_answer_is_recorded_as_a_request_may_hold_it(folder: Path):
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "s1g"}
    call = {"type": "tool_use", "id": "a", "name": "read", "input": {"part": None}}
    with MessagesAPI([Answer("", content=[thinking, {"type": "text", "text": ""}, call])]) as api:
        chat = Conversing(folder, api)
        with chat.client as client:
            create(chat.session, client, **REQUEST)

    assert chat.session.view()[-1] == {"role": "assistant", "content": [thinking, call]}


def test_an_answer_that_says_nothing_is_not_recorded(folder: Path):
    with MessagesAPI([Answer("")]) as api:
        chat = Conversing(folder, api)
        with chat.client as client:
            answer = run_tools(chat.session, client, {}, **REQUEST)

    assert answer.content == []
    assert len(chat.session.view()) == 1


def test_calls_left_open_by_an_earlier_run_are_made_first(folder: Path):
    with MessagesAPI([calling(1, 2), DONE]) as api:
        chat = Conversing(folder, api)
        with chat.client as client:
            create(chat.session, client, **REQUEST)

            run_tools(chat.session, client, {"read": read}, **REQUEST)

    [_, second] = sent(api)
    assert [r["content"] for r in tool_results(second[-1])] == [read(1), read(2)]


def test_system_tools_and_the_model_s_own_window_count(folder: Path):
    with MessagesAPI([DONE]) as api:
        chat = Conversing(folder, api)
        with chat.client as client:
            create(chat.session, client, **REQUEST, system=read(1))

    used = chat.session.status().usage.used_tokens
    assert used > count_tokens(chat.session.view(), system=read(1), model=REQUEST["model"])
    assert chat.session.model == REQUEST["model"]
    assert chat.session.settings.token_budget == BUDGET


class Writing:
    """A summarizer that waits until it may answer; `began` says that it was asked."""

    def __init__(self) -> None:
        self.began, self.may_end = anyio.Event(), anyio.Event()

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        self.began.set()
        await self.may_end.wait()
        return SummaryReply("## Goal\nRead all parts.")


async def test_a_manual_compression_aborts_the_request_which_is_sent_again_smaller(folder: Path):
    with MessagesAPI([*map(calling, range(6)), slow(), DONE]) as api:
        summarizer = Writing()
        chat = Conversing(folder, api, summarizer=summarizer)
        answers: list[Any] = []
        session = chat.session

        async def loop() -> None:
            answers.append(await arun_tools(session, chat.aclient, {"read": read}, **REQUEST))

        async def compress() -> None:
            await session.acompress(strategy="summarize", force=True)

        async with chat.aclient, anyio.create_task_group() as group:
            group.start_soon(loop)
            assert await anyio.to_thread.run_sync(api.wait_for, 7)
            group.start_soon(compress)
            await summarizer.began.wait()
            await anyio.wait_all_tasks_blocked()
            assert len(api.requests) == 7
            summarizer.may_end.set()

    assert answers[0].content[0].text == "Done."
    [*_, aborted, again] = sent(api)
    assert count_tokens(again) < count_tokens(aborted)
    assert "Read all parts." in str(again)
    assert refused(again, "anthropic") == []
    assert [(e.kind, e.reason) for e in chat.events] == [("start", "manual"), ("end", "manual")]


async def test_a_compression_in_another_thread_aborts_the_request_too(folder: Path):
    with MessagesAPI([*map(calling, range(6)), slow(), DONE]) as api:
        chat = Conversing(folder, api)
        session = chat.session

        async def loop() -> None:
            await arun_tools(session, chat.aclient, {"read": read}, **REQUEST)

        async with chat.aclient, anyio.create_task_group() as group:
            group.start_soon(loop)
            assert await anyio.to_thread.run_sync(api.wait_for, 7)
            compress = partial(session.compress, strategy="offload", force=True)
            await anyio.to_thread.run_sync(compress)

    [*_, aborted, again] = sent(api)
    assert count_tokens(again) < count_tokens(aborted)


def test_without_an_event_loop_a_manual_compression_waits_for_the_answer(folder: Path):
    asked = Flag()

    def answer(body: dict[str, Any]) -> str:
        asked.set()
        return "Done." if compressing.is_alive() else ""

    with MessagesAPI([*map(calling, range(6)), Answer(answer, first_after=0.2)]) as api:
        chat = Conversing(folder, api)
        compress = partial(chat.session.compress, strategy="offload", force=True)
        compressing = Thread(target=lambda: asked.wait() and compress())
        compressing.start()
        with chat.client as client:
            run_tools(chat.session, client, {"read": read}, **REQUEST)
        compressing.join()

    assert len(api.requests) == 7
    assert chat.session.view()[-1]["content"] == [{"type": "text", "text": "Done."}]
    assert [e.kind for e in chat.events] == ["start", "end"]


async def test_no_request_begins_before_a_compression_is_done(folder: Path):
    with MessagesAPI() as api:
        summarizer = Writing()
        chat = Conversing(folder, api, summarizer=summarizer)
        chat.session.record(*conversation(20))
        happened: list[str] = []

        async def compress() -> None:
            await chat.session.acompress(strategy="summarize", force=True)

        def waits() -> None:
            with chat.session.fitting.pace.request():
                happened.extend(event.kind for event in chat.events)

        async def request() -> None:
            await anyio.to_thread.run_sync(waits)

        async with anyio.create_task_group() as group:
            group.start_soon(compress)
            await summarizer.began.wait()
            group.start_soon(request)
            await anyio.wait_all_tasks_blocked()
            assert happened == []
            summarizer.may_end.set()

    assert happened == ["start", "end"]


async def test_what_is_recorded_while_a_compression_runs_is_kept(folder: Path):
    with MessagesAPI([*map(calling, range(12)), DONE]) as api:
        summarizer = Writing()
        settings = {"strategy": "summarize"}
        chat = Conversing(folder, api, summarizer=summarizer, settings=settings)
        said = {"role": "user", "content": "And hurry up."}

        async def speak() -> None:
            await summarizer.began.wait()
            chat.session.record(said)
            summarizer.may_end.set()

        async with chat.aclient as client, anyio.create_task_group() as group:
            group.start_soon(speak)
            await arun_tools(chat.session, client, {"read": read}, **REQUEST)

    assert any(said in messages for messages in sent(api))
    assert said in chat.session.state().recorded


async def test_cancelling_the_loop_leaves_a_conversation_that_goes_on(folder: Path):
    with MessagesAPI([calling(1), slow(), DONE]) as api:
        chat = Conversing(folder, api)
        async with chat.aclient as client:
            async with anyio.create_task_group() as group:
                group.start_soon(
                    partial(arun_tools, chat.session, client, {"read": read}, **REQUEST)
                )
                assert await anyio.to_thread.run_sync(api.wait_for, 2)
                group.cancel_scope.cancel()

            answer = await acreate(chat.session, client, **REQUEST)

    assert answer.stop_reason == "end_turn"
    assert chat.events == []


@each_way
async def test_streamed_answers_are_recorded_as_whole_ones_are(folder: Path, both: Any):
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "s1g"}
    script: list[Entry] = [
        Answer("First.", stop_reason="tool_use", content=[thinking, *calling(1).content]),
        calling(2, 3),
        DONE,
    ]
    views: list[Any] = []
    chunks: list[Any] = []
    ways: list[dict[str, Any]] = [{}, {"stream": True}, {"on_chunk": chunks.append}]
    for number, more in enumerate(ways):
        with MessagesAPI(script) as api:
            chat = Conversing(folder / str(number), api)

            answer = await both(chat, {"read": read}, **more)

        assert [bool(r.body.get("stream")) for r in api.requests] == [bool(more)] * 3
        assert answer.content[0].text == "Done."
        views.append(chat.session.view())
    assert views[0] == views[1] == views[2]
    said = "".join(chunk.text for chunk in chunks if chunk.type == "text")
    assert said == "First.Done."


async def test_who_is_given_the_chunks_may_be_awaited(folder: Path):
    seen: list[str] = []

    async def show(event: Any) -> None:
        await anyio.lowlevel.checkpoint()
        seen.append(event.type)

    with MessagesAPI([DONE]) as api:
        chat = Conversing(folder, api)
        async with chat.aclient as client:
            await acreate(chat.session, client, on_chunk=show, **REQUEST)

    assert seen[0] == "message_start"
    assert seen[-1] == "message_stop"


@each_way
async def test_a_stream_refused_as_too_long_is_asked_for_again_smaller(folder: Path, both: Any):
    with MessagesAPI([calling(1, 2, 3), too_long(), DONE]) as api:
        chat = Conversing(folder, api)

        await both(chat, {"read": read}, stream=True)

    [_, large, small] = sent(api)
    assert count_tokens(small) < 0.6 * count_tokens(large)


async def test_a_manual_compression_aborts_a_running_stream(folder: Path):
    with MessagesAPI(
        [*map(calling, range(6)), Answer("Never said.", each_after=3600), DONE]
    ) as api:
        chat = Conversing(folder, api)
        session = chat.session
        begun = anyio.Event()
        answers: list[Any] = []

        def look(event: Any) -> None:
            if len(api.requests) == 7:
                begun.set()

        async def loop() -> None:
            run = partial(arun_tools, session, chat.aclient, {"read": read}, on_chunk=look)
            answers.append(await run(**REQUEST))

        async with chat.aclient, anyio.create_task_group() as group:
            group.start_soon(loop)
            await begun.wait()
            await session.acompress(strategy="offload", force=True)

    assert answers[0].content[0].text == "Done."
    [*_, aborted, again] = sent(api)
    assert count_tokens(again) < count_tokens(aborted)
    assert "Never said." not in str(session.view())


def test_without_an_event_loop_a_stream_is_aborted_at_its_next_chunk(folder: Path):
    with MessagesAPI([*map(calling, range(6)), Answer("Not to the end."), DONE]) as api:
        chat = Conversing(folder, api)
        session = chat.session
        seen: list[Any] = []

        def look(event: Any) -> None:
            if len(api.requests) == 7:
                seen.append(event)
                session.compress(strategy="offload", force=True)

        with chat.client as client:
            answer: Any = run_tools(session, client, {"read": read}, on_chunk=look, **REQUEST)

    assert answer.content[0].text == "Done."
    assert len(seen) == 1
    [*_, aborted, again] = sent(api)
    assert count_tokens(again) < count_tokens(aborted)
    assert "Not to the end." not in str(session.view())


CUT = {
    "said so": Answer("Half of", stop_reason="model_context_window_exceeded"),
    "read only a part": Answer("Done?", usage={"input_tokens": 200_001}),
    "no room to answer": Answer("", stop_reason="max_tokens", usage={
        "input_tokens": 1, "cache_read_input_tokens": 198_500, "output_tokens": 0,
    }),
}  # fmt: skip


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("cut", CUT.values(), ids=CUT)
@each_way
async def test_an_answer_to_a_part_of_the_conversation_is_asked_for_again_smaller(
    folder: Path, both: Any, cut: Answer, streamed: bool
):
    with MessagesAPI([calling(1, 2, 3), cut, DONE]) as api:
        chat = Conversing(folder, api)

        answer = await both(chat, {"read": read}, stream=streamed)

    assert answer.content[0].text == "Done."
    [_, large, small] = sent(api)
    assert count_tokens(small) < 0.6 * count_tokens(large)
    assert "Half of" not in str(chat.session.view())
    assert [(e.reason, e.will_retry) for e in chat.events] == [
        ("overflow", False), ("overflow", True),
    ]  # fmt: skip


@each_way
async def test_one_that_is_cut_again_is_taken_as_it_is_and_nothing_loops(folder: Path, both: Any):
    with MessagesAPI([calling(1, 2, 3), CUT["said so"]]) as api:
        chat = Conversing(folder, api)

        answer = await both(chat, {"read": read})

    assert answer.stop_reason == "model_context_window_exceeded"
    assert len(api.requests) == 3
    assert chat.session.view()[-1]["content"] == [{"type": "text", "text": "Half of"}]


@pytest.mark.slow
@pytest.mark.parametrize("system", ["Be brief.", [{"type": "text", "text": "Be brief."}], None])
@each_way
async def test_a_summary_in_the_system_prompt_goes_out_with_every_request(
    folder: Path, both: Any, system: Any
):
    with MessagesAPI([*map(calling, range(30)), DONE]) as api:
        model = ScriptedSummarizer()
        settings = {"summary_role": "system", "strategy": "summarize"}
        chat = Conversing(folder, api, settings=settings, summarizer=model)

        await both(chat, {"read": read}, **({"system": system} if system else {}))

    summarized = False
    for request in api.requests:
        body = request.body
        prompt = body.get("system")
        assert with_summary(prompt, "") == system
        assert MARK not in str(body["messages"])
        assert str(prompt).count("<summary>") <= 1
        assert summarized <= bool(summary_in(prompt)), "once there, it stays"
        summarized = bool(summary_in(prompt))
        used = count_tokens(
            body["messages"], system=prompt, tools=body["tools"], model=REQUEST["model"]
        )
        assert used < chat.session.settings.threshold_tokens
        assert refused(body["messages"], "anthropic") == []
    assert summarized


@each_way
async def test_a_turn_that_the_provider_paused_goes_on(folder: Path, both: Any):
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search",
              "input": {"query": "errors"}}  # fmt: skip
    found: dict[str, Any] = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1"}
    found["content"] = []
    paused = Answer("", stop_reason="pause_turn", content=[search])
    ends = Answer("", content=[found, {"type": "text", "text": "Found none."}])
    with MessagesAPI([calling(1), paused, ends]) as api:
        chat = Conversing(folder, api)

        answer = await both(chat, {"read": read})

    assert answer.content[-1].text == "Found none."
    assert [*sent(api)][-1][-1] == {"role": "assistant", "content": [search]}
    assert refused(chat.session.view(), "anthropic") == []
