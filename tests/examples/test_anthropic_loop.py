"""`examples/anthropic_loop.py` with the real client, against the Messages API with a script."""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from threading import Barrier
from typing import Any

import pytest
from anthropic import Anthropic, BadRequestError, RateLimitError
from examples import example
from provider import refused

from context_compression import Session, count_tokens
from context_compression.conversation import parse, problems, ref_of, summary_in, with_summary
from context_compression.session import Event
from context_compression.testing import ScriptedSummarizer, log
from context_compression.testing.messages_api import (
    Answer,
    Entry,
    MessagesAPI,
    rate_limited,
    too_long,
)

BUDGET = 20_000
WHOLE = {"offload_at_source": "*=0"}
"""Long results fill the conversation."""
SMALL = {"token_budget": BUDGET, "keep_recent_tokens": 2_000, "preserve_messages": 1, **WHOLE}
REQUEST: dict[str, Any] = {
    "model": "claude-test-1",
    "max_tokens": 500,
    "tools": [{"name": "read", "input_schema": {"type": "object"}}],
}
DONE = Answer("Done.")


def part_of(number: int) -> str:
    """Some 1,700 tokens."""
    return log(Random(number), 60)


def read(arguments: dict[str, Any]) -> str:
    return part_of(arguments["part"])


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


class Chat:
    """A program that keeps its messages itself, its session, and the events that it told of."""

    def __init__(self, folder: Path, api: MessagesAPI, **options: Any) -> None:
        self.events: list[Event] = []
        self.url = api.base_url
        options["settings"] = SMALL | options.get("settings", {})
        options.setdefault("model", REQUEST["model"])
        self.session = Session(folder, "s", on_event=self.events.append, **options)
        self.messages: list[Any] = [{"role": "user", "content": "Read all parts. Never write."}]

    def run(self, functions: Any, **more: Any) -> Any:
        run = example("anthropic_loop").answer_to
        with Anthropic(api_key="any", base_url=self.url, max_retries=0) as client:
            return run(self.messages, client, self.session, functions, **REQUEST | more)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / ".compression"


def sent(api: MessagesAPI) -> Iterator[list[dict[str, Any]]]:
    return (request.body["messages"] for request in api.requests)


def results_in(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [block for block in message["content"] if block["type"] == "tool_result"]


def test_every_request_of_a_long_loop_fits_and_is_valid(folder: Path):
    with MessagesAPI([*map(calling, range(40)), DONE]) as api:
        chat = Chat(folder, api)

        answer = chat.run({"read": read})

    assert answer.content[0].text == "Done."
    assert len(api.requests) == 41
    for request in api.requests:
        body = request.body
        used = count_tokens(body["messages"], tools=body["tools"], model=REQUEST["model"])
        assert used < chat.session.settings.threshold_tokens
        parsed = parse(body["messages"])
        assert problems(parsed.messages, parsed.format.rules) == ()
        assert refused(body["messages"], "anthropic") == []
    assert [event.kind for event in chat.events[:2]] == ["start", "end"]
    assert {event.reason for event in chat.events} == {"threshold"}
    assert all(e.tokens_after < e.tokens_before for e in chat.events if e.kind == "end")
    for part in range(20):
        assert chat.session.restore(ref_of(part_of(part))) == part_of(part)


def test_results_come_in_the_order_of_the_calls_and_errors_are_results(folder: Path):
    def failing(arguments: dict[str, Any]) -> str:
        if arguments["part"] == 1:
            raise ValueError("no part 1")
        return f"part {arguments['part']}"

    with MessagesAPI([calling(1, 2, 3), calling(4, name="write"), DONE]) as api:
        Chat(folder, api).run({"read": failing})

    [_, first, second] = sent(api)
    assert results_in(first[-1]) == [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ValueError: no part 1",
         "is_error": True},
        {"type": "tool_result", "tool_use_id": "toolu_2", "content": "part 2"},
        {"type": "tool_result", "tool_use_id": "toolu_3", "content": "part 3"},
    ]  # fmt: skip
    [unknown] = results_in(second[-1])
    assert unknown["is_error"]
    assert "'write'" in unknown["content"]


def test_calls_of_one_answer_run_side_by_side(folder: Path):
    all_three = Barrier(3, timeout=60)

    def waiting(arguments: dict[str, Any]) -> str:
        all_three.wait()
        return f"part {arguments['part']}"

    with MessagesAPI([calling(1, 2, 3), DONE]) as api:
        Chat(folder, api).run({"read": waiting})

    results = results_in(list(sent(api))[-1][-1])
    assert [result["content"] for result in results] == ["part 1", "part 2", "part 3"]


def test_the_model_can_restore_what_notes_name_also_several_at_once(folder: Path):
    restores = [
        {"type": "tool_use", "id": f"r{part}", "name": "context_restore",
         "input": {"ref": ref_of(part_of(part))}}
        for part in range(4)
    ]  # fmt: skip
    script: list[Entry] = [*map(calling, range(12)), Answer("", content=restores), DONE]
    with MessagesAPI(script) as api:
        Chat(folder, api).run({"read": read})

    results = results_in(list(sent(api))[-1][-1])
    assert len(results) == 4
    for part, result in enumerate(results):
        assert part_of(part)[:3_000] in result["content"]
        assert "quoted from the archive" in result["content"]


def test_all_requests_offer_the_same_tools_also_where_another_process_goes_on(folder: Path):
    with MessagesAPI([*map(calling, range(20)), DONE]) as api:
        Chat(folder, api).run({"read": read})
        later = Chat(folder, api)
        later.messages = [*later.session.view(), {"role": "user", "content": "And now?"}]

        later.run({"read": read})

    assert later.session.status().compressions
    assert list(sent(api))[-1] == later.messages[:-1]
    offered = [request.body["tools"] for request in api.requests]
    assert [tool["name"] for tool in offered[0]] == ["read", "context_restore"]
    assert all(tools == offered[0] for tools in offered)
    assert REQUEST["tools"] == [{"name": "read", "input_schema": {"type": "object"}}]


def test_a_request_refused_as_too_long_is_sent_once_more_and_smaller(folder: Path):
    with MessagesAPI([calling(1, 2, 3), too_long(), DONE]) as api:
        chat = Chat(folder, api)

        answer = chat.run({"read": read})

    assert answer.content[0].text == "Done."
    [_, large, small] = sent(api)
    assert count_tokens(small) < 0.6 * count_tokens(large)
    assert refused(small, "anthropic") == []
    [start, end] = chat.events
    assert (start.reason, end.reason, end.will_retry) == ("overflow", "overflow", True)


def test_refused_twice_the_error_rises_and_nothing_loops(folder: Path):
    with MessagesAPI([calling(1, 2, 3), too_long()]) as api:
        with pytest.raises(BadRequestError, match="prompt is too long"):
            Chat(folder, api).run({"read": read})

        assert len(api.requests) == 3


def test_a_rate_limit_is_no_overflow(folder: Path):
    with MessagesAPI([calling(1, 2, 3), rate_limited()]) as api:
        chat = Chat(folder, api)

        with pytest.raises(RateLimitError):
            chat.run({"read": read})

        assert len(api.requests) == 2
        assert chat.events == []


def test_switched_off_nothing_is_compressed(folder: Path):
    with MessagesAPI([*map(calling, range(20)), too_long()]) as api:
        chat = Chat(folder, api, settings={"auto_compress": False})

        with pytest.raises(BadRequestError):
            chat.run({"read": read})

        assert len(api.requests) == 21
        assert count_tokens(list(sent(api))[-1]) > BUDGET
        assert chat.events == []


def test_calls_left_open_by_a_cancelled_run_are_made_first(folder: Path):
    def cancelled(arguments: dict[str, Any]) -> str:
        raise KeyboardInterrupt

    with MessagesAPI([calling(1, 2), DONE]) as api:
        chat = Chat(folder, api)
        with pytest.raises(KeyboardInterrupt):
            chat.run({"read": cancelled})

        chat.run({"read": read})

    [_, second] = sent(api)
    assert [r["content"] for r in results_in(second[-1])] == [part_of(1), part_of(2)]


def test_where_the_user_speaks_after_a_cancelled_run_what_is_sent_is_valid(folder: Path):
    def cancelled(arguments: dict[str, Any]) -> str:
        raise KeyboardInterrupt

    with MessagesAPI([calling(1, 2), DONE]) as api:
        chat = Chat(folder, api)
        with pytest.raises(KeyboardInterrupt):
            chat.run({"read": cancelled})
        chat.messages.append({"role": "user", "content": "Stop. Read nothing."})

        answer = chat.run({"read": read})

    assert answer.content[0].text == "Done."
    [_, second] = sent(api)
    assert refused(second, "anthropic") == []
    assert "Stop. Read nothing." in str(second[-1])


def test_an_answer_that_says_nothing_ends_the_loop_and_is_not_sent(folder: Path):
    with MessagesAPI([Answer("")]) as api:
        chat = Chat(folder, api)

        answer = chat.run({})

    assert answer.content == []
    assert len(chat.messages) == 1


CUT = {
    "said so": Answer("Half of", stop_reason="model_context_window_exceeded"),
    "read only a part": Answer("Done?", usage={"input_tokens": 200_001}),
    "no room to answer": Answer("", stop_reason="max_tokens", usage={
        "input_tokens": 1, "cache_read_input_tokens": 198_500, "output_tokens": 0,
    }),
}  # fmt: skip


@pytest.mark.parametrize("cut", CUT.values(), ids=CUT)
def test_an_answer_to_a_part_of_the_conversation_is_asked_for_again_smaller(
    folder: Path, cut: Answer
):
    with MessagesAPI([calling(1, 2, 3), cut, DONE]) as api:
        chat = Chat(folder, api)

        answer = chat.run({"read": read})

    assert answer.content[0].text == "Done."
    [_, large, small] = sent(api)
    assert count_tokens(small) < 0.6 * count_tokens(large)
    assert "Half of" not in str(chat.messages)
    assert [(e.reason, e.will_retry) for e in chat.events] == [
        ("overflow", False), ("overflow", True),
    ]  # fmt: skip


def test_one_that_is_cut_again_is_taken_as_it_is_and_nothing_loops(folder: Path):
    with MessagesAPI([calling(1, 2, 3), CUT["said so"]]) as api:
        chat = Chat(folder, api)

        answer = chat.run({"read": read})

    assert answer.stop_reason == "model_context_window_exceeded"
    assert len(api.requests) == 3
    assert chat.messages[-1]["content"] == [{"type": "text", "text": "Half of"}]


@pytest.mark.slow
@pytest.mark.parametrize("system", ["Be brief.", [{"type": "text", "text": "Be brief."}], None])
def test_a_summary_in_the_system_prompt_goes_out_with_every_request(folder: Path, system: Any):
    with MessagesAPI([*map(calling, range(30)), DONE]) as api:
        settings = {"summary_role": "system", "strategy": "summarize"}
        chat = Chat(folder, api, settings=settings, summarizer=ScriptedSummarizer())

        chat.run({"read": read}, **({"system": system} if system else {}))

    summarized = False
    for request in api.requests:
        body = request.body
        prompt = body.get("system")
        assert with_summary(prompt, "") == system
        assert "[Compressed History] Summary" not in str(body["messages"])
        assert str(prompt).count("<summary>") <= 1
        assert summarized <= bool(summary_in(prompt)), "once there, it stays"
        summarized = bool(summary_in(prompt))
        used = count_tokens(
            body["messages"], system=prompt, tools=body["tools"], model=REQUEST["model"]
        )
        assert used < chat.session.settings.threshold_tokens
        assert refused(body["messages"], "anthropic") == []
    assert summarized


def test_a_turn_that_the_provider_paused_goes_on(folder: Path):
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search",
              "input": {"query": "errors"}}  # fmt: skip
    found: dict[str, Any] = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1"}
    found["content"] = []
    paused = Answer("", stop_reason="pause_turn", content=[search])
    ends = Answer("", content=[found, {"type": "text", "text": "Found none."}])
    with MessagesAPI([calling(1), paused, ends]) as api:
        chat = Chat(folder, api)

        answer = chat.run({"read": read})

    assert answer.content[-1].text == "Found none."
    assert [*sent(api)][-1][-1] == {"role": "assistant", "content": [search]}
    assert refused(chat.session.fit(chat.messages), "anthropic") == []


@pytest.mark.parametrize("early", ["*=1000", None, "*=0"])
def test_a_long_result_comes_as_a_preview_where_that_is_set(folder: Path, early: str | None):
    long = log(Random(1), 200)

    def read_all(arguments: dict[str, Any]) -> str:
        return long

    with MessagesAPI([calling(1), DONE]) as api:
        settings = {"token_budget": 200_000, "offload_at_source": early or ""}
        chat = Chat(folder, api, settings=settings)

        chat.run({"read": read_all})

    [result] = results_in(list(sent(api))[-1][-1])
    assert (result["content"] != long) == (early == "*=1000")
    if early == "*=1000":
        assert "context_restore(ref=" in result["content"]
        assert chat.session.restore(ref_of(long)) == long
