"""The rules of all summarizers that call a model: the real clients, and servers with a script."""

import logging
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import anthropic
import anyio
import anyio.to_thread
import openai
import pytest

from context_compression.errors import SummaryError
from context_compression.summaries import (
    AnthropicSummarizer,
    OpenAISummarizer,
    SummaryReply,
    SummaryRequest,
)
from context_compression.summaries.attempts import Price
from context_compression.testing import chat_api, messages_api
from context_compression.testing.chat_api import ChatAPI
from context_compression.testing.messages_api import MessagesAPI
from context_compression.testing.scripted_api import Page, Refusal

pytestmark = pytest.mark.anyio

KEY = "sk-the-key-nobody-may-see"
MODEL = "a-model-1"
SUMMARY = "## Goal\nShip it."
REQUEST = SummaryRequest("Be brief.", "<conversation>…</conversation>", max_tokens=900)


class Pauses(list[float]):
    """In place of sleeping: the seconds asked for."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


@dataclass(frozen=True)
class Kind:
    """A summarizer, its server, and the answers of that server."""

    package: str
    api: Any
    fakes: Any
    summarizer: Any
    client: Any
    client_that_blocks: Any
    usage: Callable[[int, int], dict[str, int]]
    passing: Mapping[str, Any]
    lasting: Mapping[str, tuple[Any, str]]

    @property
    def key(self) -> str:
        return f"{self.package.upper()}_API_KEY"

    @property
    def address(self) -> str:
        return f"{self.package.upper()}_BASE_URL"

    def environ(self, api: Any) -> dict[str, str]:
        return {self.key: KEY, self.address: api.base_url}

    async def summarize(
        self,
        api: Any,
        request: SummaryRequest = REQUEST,
        *,
        pauses: Pauses | None = None,
        **options: Any,
    ) -> SummaryReply:
        sleep = Pauses() if pauses is None else pauses
        summarizer: Any = self.summarizer(MODEL, environ=self.environ(api), sleep=sleep, **options)
        return await summarizer.summarize(request)

    async def failure(self, api: Any, **options: Any) -> SummaryError:
        with pytest.raises(SummaryError) as raised:
            await self.summarize(api, **options)
        return raised.value


def passing(fakes: Any, unfinished: Any, busy: Any) -> dict[str, Any]:
    """Answers after which the same request may succeed."""
    return {
        "rate limit": fakes.rate_limited(),
        "busy": busy,
        "failed": fakes.failed(),
        "no answer": fakes.dropped(stop_after=0),
        "dropped at once": fakes.dropped(stop_after=1),
        "dropped in the text": fakes.dropped(),
        "busy in the text": fakes.Answer(stop_after=3, error=busy),
        "ended too early": unfinished,
        "empty": fakes.empty(),
        "blank": " \n",
        "tool call": fakes.tool_call(),
    }


def lasting(fakes: Any, no_credit: Any) -> dict[str, tuple[Any, str]]:
    """Answers after which no other attempt is made, and what the error says."""
    return {
        "refusal": (fakes.refused(), "refused to write the summary"),
        "cut off": (fakes.truncated(), "cut off at max_tokens"),
        "wrong key": (Refusal(401, "authentication_error", "invalid api key"), "Set {}"),
        "no right": (Refusal(403, "permission_error", "not allowed"), f"may not use {MODEL}"),
        "no model": (Refusal(404, "not_found_error", f"model: {MODEL}"), f"no model {MODEL}"),
        "no money": (no_credit, "credit"),
        "says not to": (
            Refusal(429, "rate_limit_error", "Spend limit", {"x-should-retry": "false"}),
            "rate limit",
        ),
    }


KINDS = {
    "anthropic": Kind(
        "anthropic", MessagesAPI, messages_api, AnthropicSummarizer,
        anthropic.AsyncAnthropic, anthropic.Anthropic,
        lambda sent, got: {"input_tokens": sent, "output_tokens": got},
        {
            **passing(
                messages_api, messages_api.Answer(SUMMARY, stop_reason=None),
                messages_api.overloaded(),
            ),
            "paused": messages_api.Answer("Wait", stop_reason="pause_turn"),
        },
        lasting(
            messages_api, Refusal(400, "invalid_request_error", "Your credit balance is too low.")
        ),
    ),
    "openai": Kind(
        "openai", ChatAPI, chat_api, OpenAISummarizer, openai.AsyncOpenAI, openai.OpenAI,
        lambda sent, got: {"prompt_tokens": sent, "completion_tokens": got},
        {
            **passing(
                chat_api, chat_api.Completion(SUMMARY, finish_reason=None),
                Refusal(503, "server_error", "Busy", more={"code": 503}),
            ),
            "aborted": chat_api.Completion("Wait", finish_reason="abort"),  # vLLM
        },
        lasting(
            chat_api,
            Refusal(429, "insufficient_quota", "Quota", more={"code": "insufficient_quota"}),
        ),
    ),
}  # fmt: skip
PASSING = {f"{n}: {a}": (k, entry) for n, k in KINDS.items() for a, entry in k.passing.items()}
LASTING = {
    f"{name}: {answer}": (kind, entry, says.format(kind.key))
    for name, kind in KINDS.items()
    for answer, (entry, says) in kind.lasting.items()
}


@pytest.fixture(params=KINDS.values(), ids=[*KINDS])
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


async def test_what_failed_answers_took_counts_too(kind: Kind):
    usage = kind.usage(1_000_000, 1_000)
    script = [
        kind.fakes.tool_call(usage=usage), kind.fakes.failed(),
        kind.fakes.Answer(SUMMARY, usage=usage),
    ]  # fmt: skip
    with kind.api(script) as api:
        reply = await kind.summarize(api, price=Price(input=3, output=15))

    assert (reply.input_tokens, reply.output_tokens) == (2_000_000, 2_000)
    assert reply.cost == pytest.approx(6.03)


async def test_the_key_comes_from_the_given_environment(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(kind.key, "another")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "another")
    monkeypatch.setenv(kind.address, "http://127.0.0.1:9")
    with kind.api([SUMMARY], api_key=KEY) as api:
        reply = await kind.summarize(api)

    assert reply.text == SUMMARY


async def test_without_another_environment_that_of_the_process_counts(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
):
    with kind.api([SUMMARY], api_key=KEY) as api:
        for name, value in kind.environ(api).items():
            monkeypatch.setenv(name, value)

        reply = await kind.summarizer(MODEL).summarize(REQUEST)

    assert reply.text == SUMMARY


@pytest.mark.parametrize(
    "address", ["localhost:11434", "http://me:pass-word@host:port/v1", "http://[::1", "http://h/\0"]
)
async def test_an_address_that_is_none_is_told_without_its_password(kind: Kind, address: str):
    summarizer = kind.summarizer(MODEL, environ={kind.key: KEY, kind.address: address})

    with pytest.raises(SummaryError, match="is no address") as raised:
        await summarizer.summarize(REQUEST)
    assert "pass-word" not in str(raised.value)


async def test_a_client_handed_in_stays_open_and_does_not_retry_by_itself(kind: Kind):
    pauses = Pauses()
    with kind.api([kind.fakes.failed(), SUMMARY], api_key=KEY) as api:
        async with kind.client(api_key=KEY, base_url=api.base_url) as client:
            summarizer = kind.summarizer(MODEL, client=client, environ={}, sleep=pauses)

            first = await summarizer.summarize(REQUEST)
            second = await summarizer.summarize(REQUEST)

            assert not client.is_closed()
    assert first == second
    assert len(api.requests) == 3
    assert pauses == [0.5]


async def test_a_client_that_cannot_be_awaited_is_named(kind: Kind):
    with (
        kind.api([SUMMARY]) as api,
        kind.client_that_blocks(api_key=KEY, base_url=api.base_url) as client,
        pytest.raises(SummaryError, match=f"Hand in an {kind.client.__name__}") as raised,
    ):
        await kind.summarizer(MODEL, client=client, sleep=Pauses()).summarize(REQUEST)

    assert not raised.value.retryable
    assert api.requests == []


@pytest.mark.parametrize(
    ("own", "named", "asked"), [(MODEL, "other", MODEL), (None, "other", "other")]
)
async def test_the_summarizers_own_model_goes_before_the_requests(
    kind: Kind, own: str | None, named: str, asked: str
):
    request = SummaryRequest("s", "p", 100, model=named)
    with kind.api([SUMMARY]) as api:
        reply = await kind.summarizer(own, environ=kind.environ(api)).summarize(request)

    assert reply.model == asked


@pytest.mark.parametrize(
    ("model", "key", "says"),
    [(None, KEY, "set summary_model"), (MODEL, None, "set {}"), (MODEL, " ", "set {}")],
)
async def test_what_is_missing_is_named(
    kind: Kind, model: str | None, key: str | None, says: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(kind.key, "the process has one")
    given = {} if key is None else {kind.key: key}

    with pytest.raises(SummaryError, match=says.format(kind.key)) as raised:
        await kind.summarizer(model, environ=given).summarize(REQUEST)

    assert not raised.value.retryable


async def test_a_server_that_does_not_stream_still_gives_a_summary(kind: Kind):
    entry = kind.fakes.Answer(SUMMARY, usage=kind.usage(900, 12), streamed=False)
    with kind.api([entry]) as api:
        reply = await kind.summarize(api)

    assert len(api.requests) == 1
    assert (reply.text, reply.input_tokens, reply.output_tokens) == (SUMMARY, 900, 12)


async def test_an_answer_at_once_that_was_cut_off_is_no_summary(kind: Kind):
    with kind.api([kind.fakes.truncated(streamed=False)]) as api:
        error = await kind.failure(api)

    assert "cut off at max_tokens" in str(error)


@pytest.mark.parametrize(
    "said",
    [
        {
            "type": "error",
            "error": {"type": "server_error", "message": f"The queue of {KEY} is full"},
        },
        {"detail": f"The queue of {KEY} is full"},
        {"error": f"The queue of {KEY} is full"},
    ],
    ids=repr,
)
async def test_an_error_with_the_status_of_success_is_quoted(kind: Kind, said: dict[str, Any]):
    with kind.api([said]) as api:
        error = await kind.failure(api)

    assert '"The queue of [key] is full"' in str(error)
    assert error.retryable
    assert len(api.requests) == 3


async def test_a_web_page_is_quoted_and_not_asked_for_again(kind: Kind):
    page = Page(f"<!DOCTYPE html>\n<html><title>Log in</title>{KEY}</html>")
    with kind.api([page]) as api:
        error = await kind.failure(api)

    assert "answered with a web page" in str(error)
    assert "<title>Log in</title>[key]" in str(error)
    assert not error.retryable
    assert len(api.requests) == 1


@pytest.mark.parametrize("text", ["{not JSON", "[1, 2]", "queue full"])
async def test_what_is_no_answer_is_quoted(kind: Kind, text: str):
    with kind.api([Page(text, "application/json")]) as api:
        error = await kind.failure(api)

    assert f'sent this instead of a summary: "{text}"' in str(error)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "entry"), PASSING.values(), ids=PASSING)
async def test_what_passes_is_asked_again(kind: Kind, entry: Any):
    pauses = Pauses()
    with kind.api([entry, entry, SUMMARY]) as api:
        reply = await kind.summarize(api, pauses=pauses)

    assert reply.text == SUMMARY
    assert len(api.requests) == 3
    assert pauses == [0.5, 1]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "entry"), PASSING.values(), ids=PASSING)
async def test_the_attempts_are_all_the_calls_there_are(kind: Kind, entry: Any):
    with kind.api([entry]) as api:
        error = await kind.failure(api, request=SummaryRequest("s", "p", 100, attempts=2))

    assert len(api.requests) == 2
    assert error.retryable
    assert str(error).endswith("Asked 2 times.")


async def test_one_attempt_is_one_call(kind: Kind):
    pauses = Pauses()
    with kind.api([kind.fakes.failed()]) as api:
        error = await kind.failure(
            api, request=SummaryRequest("s", "p", 100, attempts=1), pauses=pauses
        )

    assert len(api.requests) == 1
    assert pauses == []
    assert str(error) == "The provider failed (500)."


@pytest.mark.parametrize(("kind", "entry", "says"), LASTING.values(), ids=LASTING)
async def test_what_lasts_is_asked_once(kind: Kind, entry: Any, says: str):
    with kind.api([entry, SUMMARY]) as api:
        error = await kind.failure(api)

    assert len(api.requests) == 1
    assert says in str(error)
    assert not error.retryable
    assert not error.too_long


async def test_pauses_double_up_to_eight_seconds(kind: Kind):
    pauses = Pauses()
    with kind.api([kind.fakes.failed()]) as api:
        await kind.failure(
            api,
            request=SummaryRequest("s", "p", 100, attempts=7),
            pauses=pauses,
            deadline_seconds=None,
        )

    assert pauses == [0.5, 1, 2, 4, 8, 8]


async def test_the_wait_the_provider_asks_for_is_kept(kind: Kind):
    pauses = Pauses()
    with kind.api([kind.fakes.rate_limited(retry_after=3), SUMMARY]) as api:
        await kind.summarize(api, pauses=pauses)

    assert pauses == [3]


@pytest.mark.parametrize("header", ["Sat, 21 Nov 2026 10:30:39 GMT", "nan", "-3", "0", ""])
async def test_a_wait_that_is_no_number_of_seconds_is_ours(kind: Kind, header: str):
    entry = Refusal(429, "rate_limit_error", "Slow down", {"retry-after": header})
    pauses = Pauses()
    with kind.api([entry, SUMMARY]) as api:
        await kind.summarize(api, pauses=pauses)

    assert pauses == [0.5]


async def test_a_wait_beyond_the_deadline_is_not_begun(kind: Kind):
    pauses = Pauses()
    with kind.api([kind.fakes.rate_limited(retry_after=60), SUMMARY]) as api:
        error = await kind.failure(api, pauses=pauses)

    assert len(api.requests) == 1
    assert pauses == []
    assert error.retryable
    assert str(error) == "The provider's rate limit is reached (429). It asks to wait 60 s."


async def test_a_long_wait_is_kept_where_there_is_no_deadline(kind: Kind):
    pauses = Pauses()
    with kind.api([kind.fakes.rate_limited(retry_after=60), SUMMARY]) as api:
        await kind.summarize(api, pauses=pauses, deadline_seconds=None)

    assert pauses == [60]


@pytest.mark.parametrize("late", [{}, {"first_after": 0, "each_after": 3600}])
async def test_the_deadline_ends_an_answer_that_does_not_come(kind: Kind, late: dict[str, float]):
    with kind.api([kind.fakes.slow(**late)]) as api:
        error = await kind.failure(api, deadline_seconds=0.2)

    assert str(error).startswith(f"No summary within 0.2 s from {MODEL}.")
    assert not error.retryable


async def test_the_deadline_is_for_all_attempts_together(kind: Kind):
    with kind.api([kind.fakes.rate_limited(retry_after=0.01), kind.fakes.slow()]) as api:
        error = await kind.failure(api, deadline_seconds=1)

    assert len(api.requests) == 2
    assert str(error).startswith("No summary within 1 s")


async def test_a_provider_that_cannot_be_reached_is_named(kind: Kind):
    with kind.api() as api:
        nowhere = kind.environ(api)
    summarizer = kind.summarizer(MODEL, environ=nowhere, sleep=Pauses())

    with pytest.raises(SummaryError, match=r"connection to 127\.0\.0\.1 failed") as raised:
        await summarizer.summarize(REQUEST)

    assert raised.value.retryable


async def test_cancelling_ends_the_call_and_is_not_taken_for_a_failure(kind: Kind):
    ended: list[str] = []

    async def work(api: Any) -> None:
        try:
            await kind.summarize(api)
        except anyio.get_cancelled_exc_class():
            ended.append("cancelled")
            raise
        except SummaryError as error:
            ended.append(str(error))

    with kind.api([kind.fakes.slow()]) as api:
        async with anyio.create_task_group() as group:
            group.start_soon(work, api)
            assert await anyio.to_thread.run_sync(api.wait_for, 1)
            group.cancel_scope.cancel()

    assert ended == ["cancelled"]
    assert len(api.requests) == 1


async def test_cancelling_between_attempts_ends_the_wait(kind: Kind):
    waiting = anyio.Event()

    async def sleep(_: float) -> None:
        waiting.set()
        await anyio.sleep_forever()

    with kind.api([kind.fakes.failed()]) as api:
        summarizer = kind.summarizer(MODEL, environ=kind.environ(api), sleep=sleep)
        async with anyio.create_task_group() as group:
            group.start_soon(summarizer.summarize, REQUEST)
            await waiting.wait()
            group.cancel_scope.cancel()

    assert len(api.requests) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422, 429, 500, 529])
async def test_the_key_is_in_no_error_and_no_log(
    kind: Kind, status: int, caplog: pytest.LogCaptureFixture
):
    echoing = Refusal(status, "api_error", f"prompt is too long for {KEY}, said {KEY}")
    caplog.set_level(logging.DEBUG, "context_compression")
    with kind.api([echoing]) as api:
        error = await kind.failure(api)

    assert KEY not in "".join(traceback.format_exception(error))
    assert KEY not in repr(vars(error))
    assert KEY not in caplog.text


async def test_long_words_of_the_provider_are_cut(kind: Kind):
    with kind.api([Refusal(400, "invalid_request_error", "no " * 1000)]) as api:
        error = await kind.failure(api)

    assert len(str(error)) < 300


@pytest.mark.slow
def test_the_event_loop_goes_on_while_the_client_is_imported(kind: Kind):
    """The import takes over a second; an MCP server has pings to answer."""
    code = (
        "import builtins, threading, sys\n"
        "import anyio\n"
        f"from {kind.summarizer.__module__} import {kind.summarizer.__name__} as Ours\n"
        "from context_compression.summaries.summarizer import SummaryRequest\n"
        "class Watch:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == '{kind.package}':\n"
        "            print(threading.current_thread() is threading.main_thread())\n"
        "sys.meta_path.insert(0, Watch())\n"
        "try:\n"
        "    anyio.run(Ours('m', environ={}).summarize, SummaryRequest('', '', 9))\n"
        "except Exception as error:\n"
        "    print(type(error).__name__)\n"
    )

    said = subprocess.check_output([sys.executable, "-c", code], text=True, timeout=60)

    assert said.split() == ["False", "SummaryError"]


def test_importing_the_module_does_not_import_the_client(kind: Kind):
    code = (
        "import sys\n"
        f"from {kind.summarizer.__module__} import {kind.summarizer.__name__} as Ours\n"
        "Ours('m')\n"
        "print([name for name in ('anthropic', 'openai', 'httpx2') if name in sys.modules])"
    )

    said = subprocess.check_output([sys.executable, "-c", code], text=True, timeout=60)

    assert said.strip() == "[]"
