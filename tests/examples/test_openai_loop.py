"""`examples/openai_loop.py` with the real client, against `/chat/completions` with a script."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from examples import example
from provider import refused

from context_compression import Session, count_tokens
from context_compression.conversation import parse, problems, ref_of
from context_compression.session import Event
from context_compression.testing import log
from context_compression.testing.chat_api import ChatAPI, Completion, rate_limited, slow, too_long

pytestmark = pytest.mark.anyio
openai = pytest.importorskip("openai")

BUDGET = 20_000
SMALL = {
    "token_budget": BUDGET, "keep_recent_tokens": 2_000, "preserve_messages": 1,
    "offload_at_source": "*=0",  # long results fill the conversation
}  # fmt: skip
REQUEST: dict[str, Any] = {
    "model": "gpt-5",
    "tools": [{"type": "function", "function": {"name": "read", "parameters": {}}}],
}
DONE = Completion("Done.")


def part_of(number: int) -> str:
    return log(Random(number), 60)


async def read(arguments: dict[str, Any]) -> str:
    return part_of(arguments["part"])


def called(id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calling(*parts: int, arguments: str | None = None) -> Completion:
    calls = [called(f"call_{n}", "read", arguments or json.dumps({"part": n})) for n in parts]
    return Completion("", finish_reason="tool_calls", message={"tool_calls": calls})


class Chat:
    """A program that keeps its messages itself, its session, and the events that it told of."""

    def __init__(self, folder: Path, api: ChatAPI, **settings: Any) -> None:
        self.events: list[Event] = []
        self.url = api.base_url
        self.session = Session(
            folder / ".compression", "s", settings=SMALL | settings, model="gpt-5",
            on_event=self.events.append,
        )  # fmt: skip
        self.messages: list[Any] = [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Read all parts. Never write."},
        ]

    async def run(self, functions: Any, **more: Any) -> Any:
        run = example("openai_loop").answer_to
        async with openai.AsyncOpenAI(api_key="any", base_url=self.url, max_retries=0) as client:
            return await run(self.messages, client, self.session, functions, **REQUEST | more)


def sent(api: ChatAPI) -> Iterator[list[dict[str, Any]]]:
    return (request.body["messages"] for request in api.requests)


async def test_every_request_of_a_long_loop_fits_and_is_valid(tmp_path: Path):
    with ChatAPI([*map(calling, range(40)), DONE]) as api:
        chat = Chat(tmp_path, api)

        answer = await chat.run({"read": read})

    assert answer.choices[0].message.content == "Done."
    assert len(api.requests) == 41
    for request in api.requests:
        messages = request.body["messages"]
        used = count_tokens(messages, tools=request.body["tools"], model=REQUEST["model"])
        assert used < chat.session.settings.threshold_tokens
        parsed = parse(messages)
        assert problems(parsed.messages, parsed.format.rules) == ()
        assert refused(messages, "openai") == []
        names = [tool["function"]["name"] for tool in request.body["tools"]]
        assert names == ["read", "context_restore"], "others would empty the prompt cache"
    assert {event.reason for event in chat.events} == {"threshold"}
    shown = [message.get("content") for message in list(sent(api))[-1]]
    gone = [part_of(part) for part in range(40) if part_of(part) not in shown]
    assert len(gone) > 20
    assert all(chat.session.restore(ref_of(text)) == text for text in gone)


async def test_results_come_in_the_order_of_the_calls_and_errors_say_so(tmp_path: Path):
    second_ran = asyncio.Event()

    async def failing(arguments: dict[str, Any]) -> str:
        if arguments["part"] == 1:
            await second_ran.wait()  # the calls of one answer run side by side
            raise ValueError("no part 1")
        second_ran.set()
        return "第二部分"

    with ChatAPI([calling(1, 2), calling(3, arguments="{oops"), DONE]) as api:
        await Chat(tmp_path, api).run({"read": failing})

    [_, second, third] = sent(api)
    assert second[-2:] == [
        {"role": "tool", "tool_call_id": "call_1", "content": "Error: ValueError: no part 1"},
        {"role": "tool", "tool_call_id": "call_2", "content": "第二部分"},
    ]
    assert third[-1]["content"].startswith("Error: JSONDecodeError")


async def test_the_model_can_restore_what_a_note_names(tmp_path: Path):
    arguments = json.dumps({"ref": ref_of(part_of(0)), "lines": "2-3"})
    restore = Completion("", message={"tool_calls": [called("r", "context_restore", arguments)]})
    with ChatAPI([*map(calling, range(25)), restore, DONE]) as api:
        await Chat(tmp_path, api).run({"read": read})

    result = list(sent(api))[-1][-1]["content"]
    assert "\n".join(part_of(0).split("\n")[1:3]) in result
    assert "quoted from the archive" in result


async def test_refused_once_it_is_sent_again_smaller(tmp_path: Path):
    with ChatAPI([calling(1, 2, 3), too_long(), DONE]) as api:
        chat = Chat(tmp_path, api)

        await chat.run({"read": read})

    [_, large, small] = sent(api)
    assert count_tokens(small) < 0.6 * count_tokens(large)
    assert [(e.reason, e.will_retry) for e in chat.events] == [
        ("overflow", False),
        ("overflow", True),
    ]


async def test_refused_twice_the_error_rises(tmp_path: Path):
    with ChatAPI([calling(1, 2, 3), too_long()]) as api:
        with pytest.raises(openai.BadRequestError):
            await Chat(tmp_path, api).run({"read": read})

        assert len(api.requests) == 3


async def test_a_rate_limit_is_no_overflow(tmp_path: Path):
    with ChatAPI([calling(1, 2, 3), rate_limited()]) as api:
        chat = Chat(tmp_path, api)

        with pytest.raises(openai.RateLimitError):
            await chat.run({"read": read})

        assert (len(api.requests), chat.events) == (2, [])


async def test_switched_off_nothing_is_compressed(tmp_path: Path):
    with ChatAPI([*map(calling, range(20)), too_long()]) as api:
        chat = Chat(tmp_path, api, auto_compress=False)

        with pytest.raises(openai.BadRequestError):
            await chat.run({"read": read})

        assert count_tokens(list(sent(api))[-1]) > BUDGET
        assert chat.events == []


async def test_cancelling_the_loop_leaves_a_conversation_that_goes_on(tmp_path: Path):
    began = asyncio.Event()

    async def forever(arguments: dict[str, Any]) -> str:
        began.set()
        return await asyncio.get_running_loop().create_future()

    with ChatAPI([calling(1), DONE, DONE]) as api:
        chat = Chat(tmp_path, api)
        running = asyncio.create_task(chat.run({"read": forever}))
        await began.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

        await chat.run({"read": read})
        chat.messages += [{"role": "user", "content": "Thanks."}]
        await chat.run({"read": read})

    [_, second, third] = sent(api)
    assert second[-1]["content"] == part_of(1)
    assert refused(third, "openai") == []


async def test_a_request_that_is_cancelled_is_made_again_by_the_next_call(tmp_path: Path):
    with ChatAPI([calling(1), slow(), DONE]) as api:
        chat = Chat(tmp_path, api)
        running = asyncio.create_task(chat.run({"read": read}))
        assert await asyncio.to_thread(api.wait_for, 2)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

        answer = await chat.run({"read": read})

    assert answer.choices[0].message.content == "Done."
    assert list(sent(api))[1] == list(sent(api))[2]


async def test_an_answer_to_a_part_of_the_conversation_is_asked_for_again_smaller(tmp_path: Path):
    usage = {"prompt_tokens": 399_999, "completion_tokens": 0}
    cut = Completion("Half of", finish_reason="length", usage=usage)
    with ChatAPI([calling(1, 2, 3), cut, DONE]) as api:
        chat = Chat(tmp_path, api)

        answer = await chat.run({"read": read})

    assert answer.choices[0].message.content == "Done."
    [_, large, small] = sent(api)
    assert count_tokens(small) < 0.6 * count_tokens(large)
    assert [(e.reason, e.will_retry) for e in chat.events] == [
        ("overflow", False),
        ("overflow", True),
    ]
