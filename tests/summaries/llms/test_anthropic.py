"""The real client against the Messages API with a script."""

from typing import Any

import anthropic
import pytest

from context_compression.errors import SummaryError
from context_compression.summaries import AnthropicSummarizer, SummaryReply, SummaryRequest
from context_compression.summaries.anthropic import Price
from context_compression.summaries.summarizer import Summarizer
from context_compression.testing.messages_api import Answer, Entry, MessagesAPI, Refusal, too_long

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
