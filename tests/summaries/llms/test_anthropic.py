"""The real client against the Messages API with a script."""

import logging
import subprocess
import sys
import traceback
from collections.abc import Mapping
from typing import Any

import anthropic
import anyio
import anyio.to_thread
import pytest

from context_compression.errors import SummaryError
from context_compression.summaries.llms.anthropic import AnthropicSummarizer, Price
from context_compression.summaries.summarizer import Summarizer, SummaryReply, SummaryRequest
from context_compression.testing.messages_api import (
    Answer,
    Entry,
    MessagesAPI,
    Refusal,
    dropped,
    empty,
    failed,
    overloaded,
    rate_limited,
    refused,
    slow,
    too_long,
    tool_call,
    truncated,
)

pytestmark = pytest.mark.anyio

KEY = "sk-ant-the-key-nobody-may-see"
MODEL = "claude-test-1"
SUMMARY = "## Goal\nShip it."
REQUEST = SummaryRequest("Be brief.", "<conversation>…</conversation>", max_tokens=900)


class Pauses(list[float]):
    """In place of sleeping: the seconds asked for."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


def environ(api: MessagesAPI) -> dict[str, str]:
    return {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": api.base_url}


async def summarize(
    api: MessagesAPI,
    request: SummaryRequest = REQUEST,
    *,
    pauses: Pauses | None = None,
    **options: Any,
) -> SummaryReply:
    summarizer: Summarizer = AnthropicSummarizer(
        MODEL, environ=environ(api), sleep=Pauses() if pauses is None else pauses, **options
    )
    return await summarizer.summarize(request)


async def failure(api: MessagesAPI, **options: Any) -> SummaryError:
    with pytest.raises(SummaryError) as raised:
        await summarize(api, **options)
    return raised.value


async def test_a_summary_comes_back_with_its_model_and_its_tokens():
    usage = {
        "input_tokens": 100,
        "cache_read_input_tokens": 30,
        "cache_creation_input_tokens": 7,
        "output_tokens": 12,
    }
    with MessagesAPI([Answer(f"\n{SUMMARY}\n", usage=usage)]) as api:
        reply = await summarize(api)

    assert reply == SummaryReply(
        SUMMARY, MODEL, input_tokens=137, output_tokens=12, cache_read_tokens=30,
        cache_write_tokens=7,
    )  # fmt: skip


async def test_without_a_price_the_cost_is_unknown_and_with_one_it_is_what_the_bill_says():
    usage = {
        "input_tokens": 100_000,
        "cache_read_input_tokens": 1_000_000,
        "cache_creation_input_tokens": 200_000,
        "output_tokens": 4_000,
    }
    with MessagesAPI([Answer(SUMMARY, usage=usage)]) as api:
        unknown = await summarize(api)
        known = await summarize(api, price=Price(input=3, output=15))

    assert unknown.cost is None
    assert known.cost == pytest.approx(0.3 + 0.3 + 0.75 + 0.06)


async def test_what_failed_answers_took_counts_too():
    usage = {"input_tokens": 1_000_000, "output_tokens": 1_000}
    with MessagesAPI([tool_call(usage=usage), overloaded(), Answer(SUMMARY, usage=usage)]) as api:
        reply = await summarize(api, price=Price(input=3, output=15))

    assert (reply.input_tokens, reply.output_tokens) == (2_000_000, 2_000)
    assert reply.cost == pytest.approx(6.03)


async def test_one_user_message_is_sent_and_no_tools():
    with MessagesAPI([SUMMARY]) as api:
        await summarize(api)

    (request,) = api.requests
    assert request.path == "/v1/messages"
    assert request.body == {
        "model": MODEL,
        "max_tokens": 900,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "<conversation>…</conversation>"}],
        "stream": True,
    }


async def test_the_key_comes_from_the_given_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "another")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "another")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    with MessagesAPI([SUMMARY], api_key=KEY) as api:
        reply = await summarize(api)

    assert reply.text == SUMMARY


async def test_without_another_environment_that_of_the_process_counts(
    monkeypatch: pytest.MonkeyPatch,
):
    with MessagesAPI([SUMMARY], api_key=KEY) as api:
        for name, value in environ(api).items():
            monkeypatch.setenv(name, value)

        reply = await AnthropicSummarizer(MODEL).summarize(REQUEST)

    assert reply.text == SUMMARY


async def test_a_client_handed_in_stays_open_and_does_not_retry_by_itself():
    pauses = Pauses()
    with MessagesAPI([overloaded(), SUMMARY], api_key=KEY) as api:
        async with anthropic.AsyncAnthropic(api_key=KEY, base_url=api.base_url) as client:
            summarizer = AnthropicSummarizer(MODEL, client=client, environ={}, sleep=pauses)

            first = await summarizer.summarize(REQUEST)
            second = await summarizer.summarize(REQUEST)

            assert not client.is_closed()
    assert first == second
    assert len(api.requests) == 3
    assert pauses == [0.5]


async def test_a_client_that_cannot_be_awaited_is_named():
    with (
        MessagesAPI([SUMMARY]) as api,
        anthropic.Anthropic(api_key=KEY, base_url=api.base_url) as client,
        pytest.raises(SummaryError, match="Hand in an AsyncAnthropic") as raised,
    ):
        await AnthropicSummarizer(MODEL, client=client, sleep=Pauses()).summarize(REQUEST)

    assert not raised.value.retryable
    assert api.requests == []


@pytest.mark.parametrize(
    ("own", "named", "asked"),
    [(MODEL, "claude-other", MODEL), (None, "claude-other", "claude-other")],
)
async def test_the_summarizers_own_model_goes_before_the_requests(
    own: str | None, named: str, asked: str
):
    request = SummaryRequest("s", "p", 100, model=named)
    with MessagesAPI([SUMMARY]) as api:
        reply = await AnthropicSummarizer(own, environ=environ(api)).summarize(request)

    assert reply.model == asked


@pytest.mark.parametrize(
    ("model", "given", "says"),
    [
        (None, {"ANTHROPIC_API_KEY": KEY}, "set summary_model"),
        (MODEL, {}, "set ANTHROPIC_API_KEY"),
        (MODEL, {"ANTHROPIC_API_KEY": " "}, "set ANTHROPIC_API_KEY"),
    ],
)
async def test_what_is_missing_is_named(
    model: str | None, given: Mapping[str, str], says: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "the process has one")

    with pytest.raises(SummaryError, match=says) as raised:
        await AnthropicSummarizer(model, environ=given).summarize(REQUEST)

    assert not raised.value.retryable


IN_STREAM = Answer(stop_after=3, error=Refusal(529, "overloaded_error", "Overloaded"))
PASSING: dict[str, Entry] = {
    "rate limit": rate_limited(),
    "overloaded": overloaded(),
    "failed": failed(),
    "no answer": dropped(stop_after=0),
    "dropped at once": dropped(stop_after=1),
    "dropped in the text": dropped(),
    "overloaded in the text": IN_STREAM,
    "ended too early": Answer(SUMMARY, stop_reason=None),
    "empty": empty(),
    "blank": " \n",
    "tool call": tool_call(),
    "paused": Answer("Wait", stop_reason="pause_turn"),
}
LASTING: dict[str, tuple[Entry, str]] = {
    "refusal": (refused(), "refused to write the summary"),
    "cut off": (truncated(), "cut off at max_tokens"),
    "wrong key": (Refusal(401, "authentication_error", "invalid x-api-key"), "Set ANTHROPIC_API"),
    "no right": (Refusal(403, "permission_error", "not allowed"), f"may not use {MODEL}"),
    "no model": (Refusal(404, "not_found_error", f"model: {MODEL}"), f"no model {MODEL}"),
    "no money": (
        Refusal(400, "invalid_request_error", "Your credit balance is too low."),
        "credit balance is too low",
    ),
    "says not to": (
        Refusal(429, "rate_limit_error", "Spend limit", {"x-should-retry": "false"}),
        "rate limit",
    ),
}
TOO_LONG: dict[str, Entry] = {
    "tokens": too_long(213_462, 200_000),
    "bytes": Refusal(413, "request_too_large", "Request exceeds the maximum size"),
    "with the answer": Refusal(
        400,
        "invalid_request_error",
        "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000",
    ),
    "in the stream": Answer(
        stop_after=1, error=Refusal(400, "invalid_request_error", "prompt is too long: 9 > 8")
    ),
    "end of the window": Answer("## Go", stop_reason="model_context_window_exceeded"),
}


@pytest.mark.parametrize("entry", PASSING.values(), ids=PASSING)
async def test_what_passes_is_asked_again(entry: Entry):
    pauses = Pauses()
    with MessagesAPI([entry, entry, SUMMARY]) as api:
        reply = await summarize(api, pauses=pauses)

    assert reply.text == SUMMARY
    assert len(api.requests) == 3
    assert pauses == [0.5, 1]


@pytest.mark.parametrize("entry", PASSING.values(), ids=PASSING)
async def test_the_attempts_are_all_the_calls_there_are(entry: Entry):
    with MessagesAPI([entry]) as api:
        error = await failure(api, request=SummaryRequest("s", "p", 100, attempts=2))

    assert len(api.requests) == 2
    assert error.retryable
    assert str(error).endswith("Asked 2 times.")


async def test_one_attempt_is_one_call():
    pauses = Pauses()
    with MessagesAPI([overloaded()]) as api:
        error = await failure(api, request=SummaryRequest("s", "p", 100, attempts=1), pauses=pauses)

    assert len(api.requests) == 1
    assert pauses == []
    assert str(error) == "The provider is overloaded (529)."


@pytest.mark.parametrize(("entry", "says"), LASTING.values(), ids=LASTING)
async def test_what_lasts_is_asked_once(entry: Entry, says: str):
    with MessagesAPI([entry, SUMMARY]) as api:
        error = await failure(api)

    assert len(api.requests) == 1
    assert says in str(error)
    assert not error.retryable
    assert not error.too_long


@pytest.mark.parametrize("entry", TOO_LONG.values(), ids=TOO_LONG)
async def test_a_request_too_long_for_the_model_says_so(entry: Entry):
    with MessagesAPI([entry, SUMMARY]) as api:
        error = await failure(api)

    assert len(api.requests) == 1
    assert error.too_long
    assert not error.retryable


async def test_a_request_too_long_names_the_numbers():
    with MessagesAPI([too_long(213_462, 200_000)]) as api:
        error = await failure(api)

    assert "213462 tokens > 200000 maximum" in str(error)


async def test_pauses_double_up_to_eight_seconds():
    pauses = Pauses()
    with MessagesAPI([failed()]) as api:
        await failure(
            api,
            request=SummaryRequest("s", "p", 100, attempts=7),
            pauses=pauses,
            deadline_seconds=None,
        )

    assert pauses == [0.5, 1, 2, 4, 8, 8]


async def test_the_wait_the_provider_asks_for_is_kept():
    pauses = Pauses()
    with MessagesAPI([rate_limited(retry_after=3), SUMMARY]) as api:
        await summarize(api, pauses=pauses)

    assert pauses == [3]


@pytest.mark.parametrize("header", ["Sat, 21 Nov 2026 10:30:39 GMT", "nan", "-3", "0", ""])
async def test_a_wait_that_is_no_number_of_seconds_is_ours(header: str):
    entry = Refusal(429, "rate_limit_error", "Slow down", {"retry-after": header})
    pauses = Pauses()
    with MessagesAPI([entry, SUMMARY]) as api:
        await summarize(api, pauses=pauses)

    assert pauses == [0.5]


async def test_a_wait_beyond_the_deadline_is_not_begun():
    pauses = Pauses()
    with MessagesAPI([rate_limited(retry_after=60), SUMMARY]) as api:
        error = await failure(api, pauses=pauses)

    assert len(api.requests) == 1
    assert pauses == []
    assert error.retryable
    assert str(error) == "The provider's rate limit is reached (429). It asks to wait 60 s."


async def test_a_long_wait_is_kept_where_there_is_no_deadline():
    pauses = Pauses()
    with MessagesAPI([rate_limited(retry_after=60), SUMMARY]) as api:
        await summarize(api, pauses=pauses, deadline_seconds=None)

    assert pauses == [60]


@pytest.mark.parametrize(
    "entry", [slow(), slow(first_after=0, each_after=3600)], ids=["silent", "halting"]
)
async def test_the_deadline_ends_an_answer_that_does_not_come(entry: Answer):
    with MessagesAPI([entry]) as api:
        error = await failure(api, deadline_seconds=0.2)

    assert str(error).startswith(f"No summary within 0.2 s from {MODEL}.")
    assert not error.retryable


async def test_the_deadline_is_for_all_attempts_together():
    with MessagesAPI([rate_limited(retry_after=0.01), slow()]) as api:
        error = await failure(api, deadline_seconds=1)

    assert len(api.requests) == 2
    assert str(error).startswith("No summary within 1 s")


async def test_a_provider_that_cannot_be_reached_is_named():
    with MessagesAPI() as api:
        nowhere = environ(api)
    summarizer = AnthropicSummarizer(MODEL, environ=nowhere, sleep=Pauses())

    with pytest.raises(SummaryError, match=r"connection to 127\.0\.0\.1 failed") as raised:
        await summarizer.summarize(REQUEST)

    assert raised.value.retryable


async def test_a_client_without_a_key_is_asked_once(monkeypatch: pytest.MonkeyPatch):
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    pauses = Pauses()
    with MessagesAPI() as api:
        async with anthropic.AsyncAnthropic(base_url=api.base_url) as client:
            with pytest.raises(SummaryError, match="has a key") as raised:
                await AnthropicSummarizer(MODEL, client=client, sleep=pauses).summarize(REQUEST)

    assert not raised.value.retryable
    assert pauses == []


async def test_cancelling_ends_the_call_and_is_not_taken_for_a_failure():
    ended: list[str] = []

    async def work(api: MessagesAPI) -> None:
        try:
            await summarize(api)
        except anyio.get_cancelled_exc_class():
            ended.append("cancelled")
            raise
        except SummaryError as error:
            ended.append(str(error))

    with MessagesAPI([slow()]) as api:
        async with anyio.create_task_group() as group:
            group.start_soon(work, api)
            assert await anyio.to_thread.run_sync(api.wait_for, 1)
            group.cancel_scope.cancel()

    assert ended == ["cancelled"]
    assert len(api.requests) == 1


async def test_cancelling_between_attempts_ends_the_wait():
    waiting = anyio.Event()

    async def sleep(_: float) -> None:
        waiting.set()
        await anyio.sleep_forever()

    with MessagesAPI([overloaded()]) as api:
        summarizer = AnthropicSummarizer(MODEL, environ=environ(api), sleep=sleep)
        async with anyio.create_task_group() as group:
            group.start_soon(summarizer.summarize, REQUEST)
            await waiting.wait()
            group.cancel_scope.cancel()

    assert len(api.requests) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422, 429, 500, 529])
async def test_the_key_is_in_no_error_and_no_log(status: int, caplog: pytest.LogCaptureFixture):
    echoing = Refusal(status, "api_error", f"prompt is too long for {KEY}, said {KEY}")
    caplog.set_level(logging.DEBUG, "context_compression")
    with MessagesAPI([echoing]) as api:
        error = await failure(api)

    assert KEY not in "".join(traceback.format_exception(error))
    assert KEY not in repr(vars(error))
    assert KEY not in caplog.text


async def test_long_words_of_the_provider_are_cut():
    with MessagesAPI([Refusal(400, "invalid_request_error", "no " * 1000)]) as api:
        error = await failure(api)

    assert len(str(error)) < 300


def test_the_event_loop_goes_on_while_the_client_is_imported():
    """The import takes over a second; an MCP server has pings to answer."""
    code = (
        "import builtins, threading, sys\n"
        "import anyio\n"
        "from context_compression.summaries.llms.anthropic import AnthropicSummarizer\n"
        "from context_compression.summaries.summarizer import SummaryRequest\n"
        "class Watch:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'anthropic':\n"
        "            print(threading.current_thread() is threading.main_thread())\n"
        "sys.meta_path.insert(0, Watch())\n"
        "try:\n"
        "    anyio.run(AnthropicSummarizer('m', environ={}).summarize, SummaryRequest('', '', 9))\n"
        "except Exception as error:\n"
        "    print(type(error).__name__)\n"
    )

    said = subprocess.check_output([sys.executable, "-c", code], text=True, timeout=60)

    assert said.split() == ["False", "SummaryError"]


def test_importing_the_module_does_not_import_the_client():
    code = (
        "import sys\n"
        "from context_compression.summaries.llms.anthropic import AnthropicSummarizer\n"
        "AnthropicSummarizer('m')\n"
        "print([name for name in ('anthropic', 'httpx2') if name in sys.modules])"
    )

    said = subprocess.check_output([sys.executable, "-c", code], text=True, timeout=60)

    assert said.strip() == "[]"
